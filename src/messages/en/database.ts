import type { Said } from "../message.ts";

export const database = {
  /** What was done when a fault was met. */
  puttingInPlace: "Putting the restored database in place",
  opening: "Opening the database",
  takingLock: "Taking the instance lock",
  lookingAtLock: "Looking at the instance lock",
  reading: "Reading the database",
  writingBeside: "Writing beside the database",
  writing: "Writing to the database",
  lookingAt: "Looking at the database",
  creating: "Creating the database",
  migrating: "Migrating the database",
  settingAside: "Setting a foreign journal aside",
  readingStatus: "Reading the status",
  copyingBefore: ({ folder }: { folder: string }) => `Copying the database into ${folder} before migrating it`,
  applying: ({ tag }: { tag: string }) => `Applying migration ${tag}`,
  copying: ({ file }: { file: string }) => `Copying ${file}`,
  folderRights: ({ place, mode, owner, self }: { place: string; mode: string; owner: string; self: Said }) =>
    `folder ${place}: mode ${mode}, owner ${owner}; ${self}`,
  fileRights: ({ place, mode, owner, self }: { place: string; mode: string; owner: string; self: Said }) =>
    `file ${place}: mode ${mode}, owner ${owner}; ${self}`,
  unknownRights: ({ place, self }: { place: string; self: Said }) => `folder ${place} cannot be looked at; ${self}`,
  runsAs: ({ user }: { user: string }) => `this program runs as ${user}`,
  failed: ({ doing, text }: { doing: Said; text: string }) => `${doing}: ${text}.`,
};
