import type { database as en } from "../en/database.ts";

export const database = {
  puttingInPlace: "Установка восстановленной базы на место",
  opening: "Открытие базы",
  takingLock: "Захват блокировки экземпляра",
  lookingAtLock: "Проверка блокировки экземпляра",
  reading: "Чтение базы",
  writingBeside: "Запись рядом с базой",
  writing: "Запись в базу",
  lookingAt: "Проверка базы",
  creating: "Создание базы",
  migrating: "Перевод базы на новую версию",
  settingAside: "Переименование чужого журнала",
  readingStatus: "Чтение состояния",
  copyingBefore: ({ folder }) => `Копирование базы в ${folder} перед переводом на новую версию`,
  applying: ({ tag }) => `Применение миграции ${tag}`,
  copying: ({ file }) => `Копирование ${file}`,
  folderRights: ({ place, mode, owner, self }) => `каталог ${place}: права ${mode}, владелец ${owner}; ${self}`,
  fileRights: ({ place, mode, owner, self }) => `файл ${place}: права ${mode}, владелец ${owner}; ${self}`,
  unknownRights: ({ place, self }) => `каталог ${place} посмотреть не удалось; ${self}`,
  runsAs: ({ user }) => `программа работает от ${user}`,
  failed: ({ doing, text }) => `${doing}: ${text}.`,
} satisfies typeof en;
