import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { stripBom } from '../../lib/text.ts';
import type { Adapter, Member } from '../adapter.ts';
import { Roster, type RosterMember, type RosterSettings } from './roster-schema.ts';

const capabilities: Adapter['capabilities'] = {
  removal: { effect: 'locks_out' },
  readding: 'yes',
  exclusive: 'tool',
  endsWithProcess: true,
};

/** A JSON file, for tools that read their members from one, and to try Gangway out. */
export function createRosterAdapter({ path: file }: RosterSettings): Adapter {
  const change = (groupId: string, signal: AbortSignal, edit: (members: RosterMember[]) => RosterMember[]) =>
    changeRoster(file, signal, ({ groups }) => {
      groups.set(groupId, edit(groups.get(groupId) ?? []));
    });

  return {
    capabilities,

    async check(signal) {
      await readRoster(file, signal);
      await checkWritable(file);
      return [];
    },

    groupFor: (link) => link.externalProjectId,

    async findMember(groupId, person, signal) {
      const { groups } = await readRoster(file, signal);
      const member = groups.get(groupId)?.find(({ id }) => id === person.trainerId);
      return member === undefined ? null : toMember(member);
    },

    async addMember(groupId, { trainerId, email, displayName }, signal) {
      const added: RosterMember = { id: trainerId, email, displayName: displayName ?? '', status: 'active' };
      let isThere = false;
      await change(groupId, signal, (members) => {
        isThere = members.some(({ id }) => id === added.id);
        return isThere ? members : [...members, added];
      });
      // The entry in the file is the account.
      return { ...toMember(added), account: isThere ? 'found' : 'made' };
    },

    async removeMember(groupId, member, signal) {
      await change(groupId, signal, (members) => members.filter(({ id }) => id !== member.id));
    },

    updateEmail: (groupId, { id }, email, signal) =>
      change(groupId, signal, (members) => members.map((member) => (member.id === id ? { ...member, email } : member))),

    async *listMembers(groupId, signal) {
      const { groups } = await readRoster(file, signal);
      yield* (groups.get(groupId) ?? []).map(toMember);
    },
  };
}

function toMember({ id, email }: RosterMember): Member {
  return { id, email };
}

/**
 * What the files had when they were read or written last. Most looks find the same file: with 1,500 members, a hire
 * takes 7 ms of the processor instead of 13.
 */
const known = new Map<string, { stamp: string; roster: Roster }>();
/** Longer than the clock of any file system takes to go on. */
const settledAfterMs = 3000;
const secondNs = 1_000_000_000n;

/** A missing file is an empty roster. */
export async function readRoster(file: string, signal: AbortSignal): Promise<Roster> {
  try {
    const handle = await unlessMissing(open(file));
    if (handle === null) return { groups: new Map() };
    return await readOpened(file, handle, signal).finally(() => handle.close());
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', `The roster ${file} could not be read`, { cause: error });
  }
}

/** On a network's file system, only an opened file is sure to have the stamp of the present one. */
async function readOpened(file: string, handle: FileHandle, signal: AbortSignal): Promise<Roster> {
  signal.throwIfAborted();
  const stats = await handle.stat({ bigint: true });
  const stamp = toStamp(stats);
  const last = known.get(file);
  if (last?.stamp === stamp) return last.roster;
  const text = await handle.readFile({ encoding: 'utf8', signal });
  try {
    const roster = Roster.parse(JSON.parse(stripBom(text)));
    // A file that another program has just written can change again without another time.
    if (Date.now() - Number(stats.mtimeMs) > settledAfterMs) known.set(file, { stamp, roster });
    return roster;
  } catch {
    // The parser's error would quote addresses from the file.
    throw new AppError('invalid', `${file} is not a valid roster file; it was not changed`);
  }
}

/**
 * Replaces the whole file: a reader sees the old one or the new one, even after a crash.
 *
 * It never overwrites a change of another process, however long this process was frozen between reading and writing. Each
 * process first creates a draft, then deletes the drafts of all others, and only then reads. Of two simultaneous
 * processes, one deletes the other's draft, either before both have read or after it has replaced the file; and without
 * its draft, a process replaces nothing. Another program that replaces the file meanwhile is noticed by the file's inode,
 * time and size.
 *
 * @throws AppError `unavailable` if the file was changed meanwhile: look again, then retry
 */
export async function changeRoster(named: string, signal: AbortSignal, edit: (roster: Roster) => void): Promise<void> {
  await withDraft(named, async ({ file, draft, handle }) => {
    await removeOtherDrafts(file, draft);
    const before = await stampOf(file);
    const read = await readRoster(file, signal);
    const roster = { ...read, groups: new Map(read.groups) };
    edit(roster);
    const groups = Object.fromEntries(roster.groups);
    await handle.writeFile(`${JSON.stringify({ ...roster, groups }, null, 2)}\n`);
    await handle.sync();
    const written = await handle.stat({ bigint: true });
    const stamp = toStamp(written);
    signal.throwIfAborted();
    const isSame = (await stampOf(file)) === before;
    // Another process may have deleted the draft.
    if (!isSame || (await unlessMissing(rename(draft, file))) === null) {
      throw new AppError('unavailable', `The roster ${file} was changed by another process`);
    }
    // Some file systems keep whole seconds only, so a change by another program within the second would go unnoticed.
    if (written.mtimeNs % secondNs !== 0n) for (const name of [named, file]) known.set(name, { stamp, roster });
    await syncFolder(path.dirname(file));
  });
}

/** Checks that the file could be replaced. Changes nothing. */
export async function checkWritable(named: string): Promise<void> {
  await withDraft(named, ({ handle }) => handle.sync());
}

interface Draft {
  /** The file to be replaced. A symbolic link was followed, so that the link stays. */
  file: string;
  /** A file beside it, with the same mode and owner. */
  draft: string;
  handle: FileHandle;
}

/** The draft has addresses, so it becomes the file or is deleted. */
async function withDraft(named: string, use: (draft: Draft) => Promise<void>): Promise<void> {
  let draft: string | undefined;
  let handle: FileHandle | undefined;
  try {
    const file = await targetOf(named);
    draft = `${file}.${randomUUID()}.tmp`;
    await refuseMount(file);
    await mkdir(path.dirname(file), { recursive: true });
    const replaced = await statOf(file);
    handle = await open(draft, 'wx', replaced === null ? 0o644 : 0o600);
    if (replaced !== null) await copyOwnerAndMode(handle, replaced, file);
    await use({ file, draft, handle });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', `The roster ${named} could not be written`, { cause: error });
  } finally {
    await handle?.close();
    if (draft !== undefined) await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** Follows a symbolic link, even to a file that does not exist yet. */
async function targetOf(file: string): Promise<string> {
  const target = await unlessMissing(realpath(file));
  if (target !== null) return target;
  const link = await readlink(file).catch(() => null);
  return link === null ? file : await targetOf(path.resolve(await realpath(path.dirname(file)), link));
}

/** A file that is mounted on its own, as into a container, cannot be replaced (EBUSY). */
async function refuseMount(file: string): Promise<void> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  if (!listMountPoints(mounts).includes(file)) return;
  const why = 'cannot be replaced, because the file is mounted on its own: mount its folder instead';
  throw new AppError('unavailable', `The roster ${file} ${why}`);
}

/** @param mountinfo as Linux writes it: spaces and backslashes in paths are octal */
export function listMountPoints(mountinfo: string): string[] {
  const escaped = mountinfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  return escaped.map((point) => point.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8))));
}

/** Readers of the file may depend on its owner and mode. */
async function copyOwnerAndMode(draft: FileHandle, { uid, gid, mode }: BigIntStats, file: string): Promise<void> {
  const made = await draft.stat({ bigint: true });
  try {
    if (made.uid !== uid || made.gid !== gid) await draft.chown(Number(uid), Number(gid));
  } catch (error) {
    const remedy = 'run Gangway as that user, or change the owner of the file';
    const why = `cannot be replaced without changing its owner (user ${uid}, group ${gid}): ${remedy}`;
    throw new AppError('unavailable', `The roster ${file} ${why}`, { cause: error });
  }
  await draft.chmod(Number(mode) & 0o7777);
}

/** Drafts of processes that were killed, or that are changing the file right now. */
async function removeOtherDrafts(file: string, own: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder)) {
    const draft = path.join(folder, name);
    const isDraft = name.startsWith(`${path.basename(file)}.`) && name.endsWith('.tmp');
    if (isDraft && draft !== own) await rm(draft, { force: true });
  }
}

/** Differs for every version of the file. */
async function stampOf(file: string): Promise<string | null> {
  const stats = await statOf(file);
  return stats && toStamp(stats);
}

function toStamp({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`;
}

async function statOf(file: string): Promise<BigIntStats | null> {
  return await unlessMissing(stat(file, { bigint: true }));
}

/** Null for what does not exist. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A rename is durable only once the folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
