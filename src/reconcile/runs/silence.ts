import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { createDatabaseMark, type DatabaseMark, lostAtMostMs } from '../../db/database-mark.ts';
import { dropSetting, readSetting, writeSetting } from '../../db/setting-store.ts';
import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { remembered } from '../../lib/remembered.ts';
import { holdInstalls, holdRemovalsOf, lookAgainInTools, releaseHeldRemovals } from '../read/install-state-store.ts';

/** `removals`: removals on weaker evidence; `all`: everything older. */
export type SilenceHold = 'nothing' | 'removals' | 'all';

/**
 * After a longer pause something may have been missed. Short compared with the usual grace period,
 * and long compared with a restart, which therefore holds nothing.
 */
const longestPauseMs = 2 * 60_000;
const longestSilenceMs = 3_600_000;
const checkEveryMs = 1000;
const beatEveryMs = 20_000;

export interface Alive {
  /** When an instance ran last, as the database says; null if none has run. */
  aliveAt: string | null;
  /** The same time as this process wrote it last. */
  wroteAt: string | null;
  wasPutBack: boolean;
}

/**
 * Call it at the start.
 *
 * @throws AppError `conflict` if the database is a copy: the other one may be in use
 */
export async function refuseCopy(ctx: Context): Promise<void> {
  if (!(await watchedOf(ctx).mark.isCopy())) return;
  throw new AppError(
    'conflict',
    'This database is a copy of another one. If no instance uses the other one any more, run "gangway start --move". If it comes from a backup, run "gangway start --restored"',
  );
}

/** Decides what is held. Pure. */
export function findHold({ aliveAt, wroteAt, wasPutBack }: Alive, now: Date): SilenceHold {
  if (wasPutBack) return 'all';
  if (aliveAt === null) return 'nothing';
  // The database is older than what this process wrote into it, so it was replaced.
  if (wroteAt !== null && msBetween(aliveAt, wroteAt) > lostAtMostMs) return 'all';
  const silentMs = now.getTime() - Date.parse(aliveAt);
  if (silentMs > longestSilenceMs) return 'all';
  return silentMs > longestPauseMs ? 'removals' : 'nothing';
}

/** What this process knows of itself. */
interface Watched {
  mark: DatabaseMark;
  wroteAt: string | null;
  checkedAtMs: number | null;
  checking: Promise<SilenceHold> | undefined;
}

function watchedOf({ database }: Context): Watched {
  const create = () => ({
    mark: createDatabaseMark(database),
    wroteAt: null,
    checkedAtMs: null,
    checking: undefined,
  });
  return remembered(database, 'silence', create);
}

/**
 * Notices that no instance ran for a while, or that the database comes from a backup. What is due may
 * be wrong then, so no loop acts on it before the installs are read (docs/rules.md, Removing).
 * Call it before anything is acted on, at the start and always after it, because a machine may sleep.
 *
 * @param isRestored whether an operator says that the database comes from a backup
 * @returns what is held from now on
 */
export async function checkSilence(ctx: Context, isRestored = false): Promise<SilenceHold> {
  const watched = watchedOf(ctx);
  const sinceMs = watched.checkedAtMs === null ? null : ctx.clock.now().getTime() - watched.checkedAtMs;
  const isFresh = sinceMs !== null && sinceMs >= 0 && sinceMs < checkEveryMs;
  if (isFresh && !isRestored) return 'nothing';
  watched.checking ??= checkNow(ctx, watched, isRestored).finally(() => {
    watched.checking = undefined;
  });
  return await watched.checking;
}

async function checkNow(ctx: Context, watched: Watched, isRestored: boolean): Promise<SilenceHold> {
  const { database, adapters, clock, logger } = ctx;
  const now = clock.now();
  const { wroteAt } = watched;
  const aliveAt = (await readSetting(database.kysely, 'last_alive_at')) ?? null;
  // Only a database that nothing runs on is restored.
  const wasRestored = wroteAt === null && (await readSetting(database.kysely, 'restored')) !== undefined;
  const wasPutBack = (await watched.mark.wasPutBack(aliveAt)) || isRestored || wasRestored;
  const hold = findHold({ aliveAt, wroteAt, wasPutBack }, now);
  await apply(ctx, hold, toInstant(now));
  // A database from a backup does not know the calls since then. Where the tool cannot list its members, each one is
  // looked for.
  const unlistedTools = [...adapters].flatMap(([tool, { listMembers }]) => (listMembers ? [] : [tool]));
  if (hold === 'all') await lookAgainInTools(ctx, unlistedTools, aliveAt, toInstant(now));
  if (hold !== 'nothing') logger.warn({ hold, aliveAt, wasPutBack }, messages[hold]);
  const isDue = aliveAt === null || Math.abs(msBetween(aliveAt, toInstant(now))) >= beatEveryMs;
  if (hold !== 'nothing' || isDue || wroteAt === null) await beat(ctx, watched, now);
  watched.checkedAtMs = now.getTime();
  return hold;
}

async function apply(ctx: Context, hold: SilenceHold, now: string): Promise<void> {
  const installs = [...ctx.installs.keys()];
  if (hold === 'all') await holdInstalls(ctx, installs, now);
  if (hold === 'removals') await holdRemovalsOf(ctx, installs, now);
}

async function beat(ctx: Context, watched: Watched, now: Date): Promise<void> {
  const { database, config, logger } = ctx;
  const aliveAt = toInstant(now);
  await inTransaction(database, async (tx) => {
    await writeSetting(tx, 'last_alive_at', aliveAt);
    if (watched.wroteAt === null) await dropSetting(tx, 'restored');
  });
  watched.wroteAt = aliveAt;
  await releaseHeldRemovals(ctx, toInstant(new Date(now.getTime() - config.removals.revokedGraceMs)));
  await watched.mark.write(aliveAt).catch((error: unknown) => {
    logger.warn({ err: error }, 'If this database is restored from a backup, that may not be noticed');
  });
}

const messages = {
  removals: 'After a pause, every install is read before a member is removed on weaker evidence',
  all: 'After a silence, every install is read before anything older is acted on',
};

function msBetween(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}

export function createAliveWorker(ctx: Context): Loop {
  return createLoop({
    name: 'alive',
    intervalMs: beatEveryMs,
    logger: ctx.logger,
    clock: ctx.clock,
    async run() {
      await checkSilence(ctx);
      return 'idle';
    },
  });
}
