/* Examines and reads files of the images' folder in a child process of `find-images`: the folder may be on a disk that does not respond. */
import { type HelperCall, serveCalls } from "../../platform/helper-process.ts";
import type { ImageFile } from "./image-rows.ts";
import { findFolder, type Look, lookAtImage, readImage } from "./read-image.ts";

interface Wanted {
  name: string;
  known: ImageFile | undefined;
}

const functions = {
  async look(
    { signal, progress }: HelperCall,
    place: string,
    files: readonly Wanted[],
    limits: { bytesMax: number; nowMs: number },
  ): Promise<{ name: string; look: Look }[]> {
    const folder = await findFolder(place);
    const looks: { name: string; look: Look }[] = [];
    for (const { name, known } of files) {
      if (signal.aborted) break;
      looks.push({ name, look: await lookAtImage(folder, name, { known, ...limits }) });
      progress();
    }
    return looks;
  },
  /** The first of these files that has the given hash. */
  async read(
    { progress }: HelperCall,
    place: string,
    names: readonly string[],
    wanted: { sha256: string; bytesMax: number },
  ): Promise<{ name: string; bytes: Buffer } | undefined> {
    const folder = await findFolder(place);
    for (const name of names) {
      const bytes = await readImage(folder, name, wanted);
      if (bytes !== undefined) return { name, bytes };
      progress();
    }
    return undefined;
  },
};

export type ImageFunctions = typeof functions;

serveCalls(functions);
