export type Language = "en" | "ru";
