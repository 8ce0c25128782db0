import { loadLanguage } from "../../src/messages/render.ts";

// Tests say things in both languages; the program loads the one that is asked for.
await loadLanguage("ru");
