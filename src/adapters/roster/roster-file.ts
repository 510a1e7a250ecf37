import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { Roster } from './roster-schema.ts';

const staleAfterMs = 60_000;

/** Reads the roster; a file that is not there yet is an empty one. */
export async function readRoster(file: string, signal: AbortSignal): Promise<Roster> {
  const text = await readText(file, signal);
  if (text === undefined) return { groups: new Map() };
  try {
    return Roster.parse(JSON.parse(text));
  } catch (error) {
    throw new AppError('invalid', `The roster ${file} is not one, so it is left as it is`, {
      cause: error,
    });
  }
}

async function readText(file: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await readFile(file, { encoding: 'utf8', signal });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new AppError('unavailable', `The roster ${file} could not be read`, { cause: error });
  }
}

/** Replaces the file as a whole: a reader sees the old one or the new one, also after a crash. */
export async function writeRoster(file: string, roster: Roster): Promise<void> {
  const groups = Object.fromEntries(roster.groups);
  await withDraft(file, `${JSON.stringify({ ...roster, groups }, null, 2)}\n`, async (draft) => {
    await rename(draft, file);
    await syncFolder(path.dirname(file));
  });
}

/**
 * Removes what a process that was killed while writing left behind: it holds addresses. A draft of
 * a process that is alive is gone within a moment.
 */
export async function removeStaleDrafts(file: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(`${path.basename(file)}.`) || !name.endsWith('.tmp')) continue;
    const draft = path.join(folder, name);
    const { mtimeMs = Date.now() } = (await stat(draft).catch(() => undefined)) ?? {};
    if (Date.now() - mtimeMs > staleAfterMs) await rm(draft, { force: true });
  }
}

/** Proves that the roster could be written, and leaves it alone. */
export async function checkWritable(file: string): Promise<void> {
  await withDraft(file, '', (draft) => rm(draft));
}

async function withDraft(
  file: string,
  text: string,
  use: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeDurably(draft, text);
    await use(draft);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw new AppError('unavailable', `The roster ${file} could not be written`, { cause: error });
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o644);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A rename is durable once the folder that records it is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
