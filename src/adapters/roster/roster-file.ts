import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { stripBom } from '../../lib/strip-bom.ts';
import { Roster } from './roster-schema.ts';

/** Reads the roster. A missing file is an empty roster. */
export async function readRoster(file: string, signal: AbortSignal): Promise<Roster> {
  const text = await readText(file, signal);
  if (text === undefined) return { groups: new Map() };
  try {
    return Roster.parse(JSON.parse(stripBom(text)));
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

/**
 * Replaces the file as a whole: a reader sees the old one or the new one, also after a crash.
 *
 * It never overwrites the change of another process, however long this process was frozen between
 * reading and writing. Each process first makes a draft, then deletes the drafts of all others, and only
 * then reads. Of two processes at the same time, one deletes the other's draft before either has read,
 * or after it has replaced the file itself; and without its draft a process replaces nothing. Another
 * program that replaces the file meanwhile is noticed by the file's inode, time and size.
 *
 * @throws AppError `unavailable` if another process changed the file meanwhile: look again, then try again
 */
export async function changeRoster(file: string, signal: AbortSignal, edit: (roster: Roster) => void): Promise<void> {
  await withDraft(file, async (draft, handle) => {
    await removeOtherDrafts(file, draft);
    const before = await stampOf(file);
    const roster = await readRoster(file, signal);
    edit(roster);
    const groups = Object.fromEntries(roster.groups);
    await handle.writeFile(`${JSON.stringify({ ...roster, groups }, null, 2)}\n`);
    await handle.sync();
    signal.throwIfAborted();
    const isSame = (await stampOf(file)) === before;
    if (!isSame || !(await replace(file, draft))) {
      throw new AppError('unavailable', `The roster ${file} was changed by another meanwhile`);
    }
    await syncFolder(path.dirname(file));
  });
}

/** Proves that the roster could be written. Changes nothing. */
export async function checkWritable(file: string): Promise<void> {
  await withDraft(file, (_draft, handle) => handle.sync());
}

/** No draft stays behind, because it contains addresses: it becomes the file or is deleted. */
async function withDraft(file: string, use: (draft: string, handle: FileHandle) => Promise<void>): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  let handle: FileHandle | undefined;
  try {
    await mkdir(path.dirname(file), { recursive: true });
    handle = await open(draft, 'wx', 0o644);
    await use(draft, handle);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', `The roster ${file} could not be written`, { cause: error });
  } finally {
    await handle?.close();
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** Drafts of processes that were killed, or that are changing the file at this moment. */
async function removeOtherDrafts(file: string, own: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder)) {
    const draft = path.join(folder, name);
    const isDraft = name.startsWith(`${path.basename(file)}.`) && name.endsWith('.tmp');
    if (isDraft && draft !== own) await rm(draft, { force: true });
  }
}

/** @returns false if another process has deleted the draft */
async function replace(file: string, draft: string): Promise<boolean> {
  try {
    await rename(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** It differs for every version of the file. */
async function stampOf(file: string): Promise<string | null> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A rename is durable only after the folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
