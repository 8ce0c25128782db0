/** The images feed: its keys, what is wrong with a row or a file, and its folder. */
export const images = {
  // meanings of keys
  "Column that names the image: an http(s) address, or a file below folder.":
    "Столбец, который называет изображение: адрес http(s) или файл внутри folder.",
  "How an image travels: as its address, as {file.base64} in the record, or beside the record in a form of its own; a row of the other kind is quarantined.":
    "Как передаётся изображение: адресом, в самой записи как {file.base64} или рядом с записью в отдельной форме; строка другого вида попадает в карантин.",
  "The only folder that files are read from, relative to this file; no link and no .. leads out of it.":
    "Единственная папка, из которой читаются файлы, относительно файла настроек; ни ссылка, ни .. из неё не выведут.",
  "A larger file is quarantined unread.": "Файл большего размера попадает в карантин непрочитанным.",
  "Files of another kind are quarantined; their first bytes decide, not their names.":
    "Файлы другого вида попадают в карантин; решают их первые байты, а не имена.",
  "The form of send: multipart.": "Форма для send: multipart.",
  "Name of the part that holds the file.": "Имя части, в которой находится файл.",
  "Name of a part that holds the record as JSON; null: each property is a part of its own, without those that are null.":
    "Имя части, в которой запись находится как JSON; null: каждое свойство — отдельная часть, кроме тех, что равны null.",
  // problems of the configuration
  "names a type twice": "называет тип дважды",
  "names what is not known of a file": "называет то, чего о файле не известно",
  "{name*}, which needs send: base64 or multipart": "{name} — для этого нужно send: base64 или multipart",
  "{name*}, but there are only {names*}": "{name}, а есть только {names}",
  "must be set where files are sent": "нужно указать, если отправляются файлы",
  "must be changed where files are sent: each request would carry every file":
    "нужно изменить, если отправляются файлы: иначе в каждом запросе будут все файлы",
  "is still the one for addresses: write the properties that go with the file":
    "остался шаблоном для адресов: перечислите свойства, которые передаются с файлом",
  "names {file.base64}, but in a form the file is a part of its own":
    "содержит {file.base64}, но в форме файл — отдельная часть",
  "has the name of the file's own part (multipart.file)": "носит имя части самого файла (multipart.file)",
  "names no {file.base64}, so the file would not be sent": "не содержит {file.base64}, поэтому файл не будет отправлен",
  "may hold nothing but {file.base64}, fixed text and {file.type} before it":
    "может содержать только {file.base64}, а перед ним постоянный текст и {file.type}",
  // a row
  "is neither an address nor the name of a file": "не адрес и не имя файла",
  "is no http(s) address, and only addresses are sent (imports.images.send: url)":
    "не адрес http(s), а отправляются только адреса (imports.images.send: url)",
  "is an address, which is never fetched; only files are sent (imports.images.send: {send=})":
    "адрес, а по адресам ничего не загружается; отправляются только файлы (imports.images.send: {send})",
  "is neither an http(s) address nor a file of the folder": "не адрес http(s) и не файл из папки",
  "is no name that a file can have": "не имя, которое может быть у файла",
  "is longer than a file's name can be": "длиннее, чем может быть имя файла",
  "lies outside the folder": "находится вне папки",
  "holds a step upwards (..)": "содержит шаг вверх (..)",
  "names a folder, not a file": "называет папку, а не файл",
  // a file
  "the file {why!}": "файл {why}",
  "the file has {size#} bytes, more than bytes_max allows ({max#})":
    "в файле {size} {size:байт|байта|байт}, больше, чем разрешает bytes_max ({max})",
  "the file is {type=}, which types does not name": "файл имеет тип {type}, которого нет в types",
  "the file is {kind!}": "файл — {kind}",
  "text, not an image": "текст, а не изображение",
  "a PDF, not an image": "PDF, а не изображение",
  "an archive, not an image": "архив, а не изображение",
  "no image that is known by its first bytes": "не изображение, которое узнаётся по первым байтам",
  "is not there": "отсутствует",
  "may not be read (permissions)": "недоступен для чтения (права)",
  "cannot be read (the disk fails)": "не читается (сбой диска)",
  "is a link that leads nowhere": "ссылка, которая никуда не ведёт",
  "is a link that leads out of the folder": "ссылка, которая выводит из папки",
  "does not answer": "не отвечает",
  "is no ordinary file": "не обычный файл",
  "is being written": "ещё записывается",
  "its file was not looked at yet": "файл ещё не осмотрен",
  // the folder
  "The folder of the images {folder=} {why!}.": "Папка с изображениями {folder}: {why}.",
  "Make it or mount it, or set imports.images.folder. Nothing is sent meanwhile, and no image is refused.":
    "Создайте или подключите её либо укажите imports.images.folder. Пока ничего не отправляется, и ни одно изображение не отклонено.",
  "{folder=} {why!}; no image is sent": "{folder}: {why}; изображения не отправляются",
  "{folder=} {why!}; no copy can be kept there": "{folder}: {why}; копии там хранить нельзя",
  "is not a folder": "не папка",
  "may not be written": "недоступна для записи",
  "may not be read": "недоступна для чтения",
  "Stopped while looking at images.": "Остановлено во время осмотра изображений.",
} as const;
