import { inTransaction } from '../../db/database.ts';
import { createDatabaseMark, lostAtMostMs } from '../../db/database-mark.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { holdInstalls, holdRemovalsOf, lookAgainInTools, releaseHeldRemovals } from '../read/hold-store.ts';

/**
 * Notices that no instance ran for a while, or that the database comes from a backup. What is due may
 * be wrong then, so no loop acts on it before the installs are read (docs/design.md, Reconciling).
 */
export interface Silence {
  /**
   * Call it before anything is acted on, at the start and always after it, because a machine may sleep.
   *
   * @param isRestored whether an operator says that the database comes from a backup
   * @returns what is held from now on
   */
  check(isRestored?: boolean): Promise<SilenceHold>;
}

/** `removals`: removals on weaker evidence; `all`: everything older. */
export type SilenceHold = 'nothing' | 'removals' | 'all';

export interface SilenceDeps extends Storage {
  /** By name. The Map always has what was loaded last. */
  installs: ReadonlyMap<string, unknown>;
  /** The tools whose members cannot be listed. */
  unlistedTools: readonly string[];
  gracePeriods: { revokedGraceMs: number };
  logger: Logger;
  clock: Clock;
}

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

export function createSilence(deps: SilenceDeps): Silence {
  const { database, installs, unlistedTools, gracePeriods, logger, clock } = deps;
  const mark = createDatabaseMark(database);
  let wroteAt: string | null = null;
  let checkedAtMs: number | null = null;
  let checking: Promise<SilenceHold> | undefined;

  async function checkNow(isRestored: boolean): Promise<SilenceHold> {
    const now = clock.now();
    const aliveAt = (await readSetting(database.kysely, 'last_alive_at')) ?? null;
    const wasPutBack = (await mark.wasPutBack(aliveAt)) || isRestored;
    const hold = findHold({ aliveAt, wroteAt, wasPutBack }, now);
    await apply(hold, toInstant(now));
    // The database may come from a backup: what was done since is forgotten then. Where no list shows it, each member is
    // looked for.
    if (hold === 'all') await lookAgainInTools(deps, unlistedTools, aliveAt, toInstant(now));
    if (hold !== 'nothing') logger.warn({ hold, aliveAt, wasPutBack }, messages[hold]);
    const isDue = aliveAt === null || Math.abs(msBetween(aliveAt, toInstant(now))) >= beatEveryMs;
    if (hold !== 'nothing' || isDue || wroteAt === null) await beat(now);
    checkedAtMs = now.getTime();
    return hold;
  }

  async function apply(hold: SilenceHold, now: string): Promise<void> {
    if (hold === 'all') await holdInstalls(deps, [...installs.keys()], now);
    if (hold === 'removals') await holdRemovalsOf(deps, [...installs.keys()], now);
  }

  async function beat(now: Date): Promise<void> {
    const aliveAt = toInstant(now);
    await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', aliveAt));
    wroteAt = aliveAt;
    await releaseHeldRemovals(deps, toInstant(new Date(now.getTime() - gracePeriods.revokedGraceMs)));
    await mark.write(aliveAt).catch((error: unknown) => {
      logger.warn({ err: error }, 'If this database is restored from a backup, that may not be noticed');
    });
  }

  return {
    async check(isRestored = false) {
      const sinceMs = checkedAtMs === null ? null : clock.now().getTime() - checkedAtMs;
      const isFresh = sinceMs !== null && sinceMs >= 0 && sinceMs < checkEveryMs;
      if (isFresh && !isRestored) return 'nothing';
      checking ??= checkNow(isRestored).finally(() => {
        checking = undefined;
      });
      return await checking;
    },
  };
}

const messages = {
  removals: 'After a pause, every install is read before a member is removed on weaker evidence',
  all: 'After a silence, every install is read before anything older is acted on',
};

function msBetween(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}

export function createAliveWorker(silence: Silence, clock: Clock, logger: Logger): Loop {
  return createLoop({
    name: 'alive',
    intervalMs: beatEveryMs,
    logger,
    clock,
    async run() {
      await silence.check();
      return 'idle';
    },
  });
}
