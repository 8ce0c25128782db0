/** How far a long command is, on a terminal. */
export const progress = {
  "Asking the service": "Опрос сервиса",
  "Looking through the database": "Проверка базы",
  "Sending a test message": "Отправка пробного сообщения",
  "{what!} …": "{what} …",
  "quarantine retry": "quarantine retry",
  "rows compared": "сравнено строк",
  "orders to read": "заказов к чтению",
  "payloads looked at": "проверено записей",
  "orders compared": "сравнено заказов",
  "{done#} of {total#}": "{done} из {total}",
  "{done#} of {total#} {unit!}": "{unit}: {done} из {total}",
  "{time*} left": "осталось {time}",
} as const;
