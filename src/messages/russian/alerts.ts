/** What is said to whoever receives alerts; what is wrong stands in condition-words. */
export const alerts = {
  "{count#} change[s] at once:": "Изменений сразу: {count}:",
} as const;
