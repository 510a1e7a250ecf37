import { statfs } from 'node:fs/promises';

/** How many bytes may still be written to the disk that a folder lies on; null where nobody says. */
export async function readFreeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
