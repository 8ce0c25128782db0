// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const ACTIVE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Foreign text for a terminal, complete but without power over it: control characters, escape sequences and marks that
 * turn the direction of writing become `\uXXXX`; line breaks stay. JSON text stays JSON text of the same value.
 */
export function inertText(text: string): string {
  return text
    .toWellFormed()
    .replace(ACTIVE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
