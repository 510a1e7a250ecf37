import type { ClaimStore } from '../../converge/claim-store.ts';
import { type Database, inTransaction } from '../../db/database.ts';
import { createDatabaseMark, lostAtMostMs } from '../../db/database-mark.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import type { InstallStateStore } from '../read/install-state-store.ts';

/**
 * Notices that nobody was here for a while, or that the database comes from a backup: what lies due
 * may be wrong then, and is not acted on before the marketplace has been asked (section 4.5).
 */
export interface Silence {
  /**
   * To be asked before anything is acted on, at the start and then always: a machine may sleep.
   *
   * @param isRestored whether an operator says that the database comes from a backup
   * @returns what is held from now on
   */
  check(isRestored?: boolean): Promise<SilenceHold>;
}

/** `removals`: those on weaker evidence; `all`: whatever is older. */
export type SilenceHold = 'nothing' | 'removals' | 'all';

export interface SilenceDeps {
  database: Database;
  installStates: Pick<InstallStateStore, 'hold' | 'holdRemovals' | 'release'>;
  /** All that are configured; live. */
  installs: ReadonlyMap<string, unknown>;
  graces: { revokedGraceMs: number };
  logger: Logger;
  clock: Clock;
}

/**
 * So long nobody can be sure that nothing was missed: short beside the shortest grace that is usual,
 * and long beside a restart, which then holds up nothing.
 */
const longestPauseMs = 2 * 60_000;
const longestSilenceMs = 3_600_000;
const lookEveryMs = 1000;
const beatEveryMs = 20_000;

export interface Alive {
  /** When anybody was here last, as the database says; null where nobody has been. */
  aliveAt: string | null;
  /** The same, as this process wrote it last. */
  wroteAt: string | null;
  wasPutBack: boolean;
}

/** Pure. */
export function findHold({ aliveAt, wroteAt, wasPutBack }: Alive, now: Date): SilenceHold {
  if (wasPutBack) return 'all';
  if (aliveAt === null) return 'nothing';
  // Older than what was written into it: it is another one by now.
  if (wroteAt !== null && msBetween(aliveAt, wroteAt) > lostAtMostMs) return 'all';
  const silentMs = now.getTime() - Date.parse(aliveAt);
  if (silentMs > longestSilenceMs) return 'all';
  return silentMs > longestPauseMs ? 'removals' : 'nothing';
}

export function createSilence(deps: SilenceDeps): Silence {
  const { database, installStates, installs, graces, logger, clock } = deps;
  const mark = createDatabaseMark(database);
  let wroteAt: string | null = null;
  let lookedAtMs: number | null = null;
  let looking: Promise<SilenceHold> | undefined;

  async function lookNow(isRestored: boolean): Promise<SilenceHold> {
    const now = clock.now();
    const aliveAt = (await readSetting(database.kysely, 'last_alive_at')) ?? null;
    const isFirst = wroteAt === null && aliveAt !== null;
    const wasPutBack = isRestored || (isFirst && (await mark.wasPutBack(aliveAt)));
    const hold = findHold({ aliveAt, wroteAt, wasPutBack }, now);
    await apply(hold, toInstant(now));
    if (hold !== 'nothing') logger.warn({ hold, aliveAt, wasPutBack }, sayings[hold]);
    const isDue = aliveAt === null || Math.abs(msBetween(aliveAt, toInstant(now))) >= beatEveryMs;
    if (hold !== 'nothing' || isDue || wroteAt === null) await beat(now);
    lookedAtMs = now.getTime();
    return hold;
  }

  async function apply(hold: SilenceHold, now: string): Promise<void> {
    if (hold === 'all') await installStates.hold([...installs.keys()], now);
    if (hold === 'removals') await installStates.holdRemovals([...installs.keys()], now);
  }

  async function beat(now: Date): Promise<void> {
    const aliveAt = toInstant(now);
    await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', aliveAt));
    wroteAt = aliveAt;
    await installStates.release(toInstant(new Date(now.getTime() - graces.revokedGraceMs)));
    await mark.write(aliveAt).catch((error: unknown) => {
      logger.warn({ err: error }, 'A restored database may not be known as such');
    });
  }

  return {
    async check(isRestored = false) {
      const sinceMs = lookedAtMs === null ? null : clock.now().getTime() - lookedAtMs;
      const isFresh = sinceMs !== null && sinceMs >= 0 && sinceMs < lookEveryMs;
      if (isFresh && !isRestored) return 'nothing';
      looking ??= lookNow(isRestored).finally(() => {
        looking = undefined;
      });
      return await looking;
    },
  };
}

const sayings = {
  removals: 'After a pause, every install is read before anybody is let go on weaker evidence',
  all: 'After a silence, every install is read before anything older is acted on',
};

function msBetween(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}

/** What was to be done before a silence is not taken up as if there had been none. */
export function withSilenceCheck(silence: Silence, claims: ClaimStore): ClaimStore {
  return {
    ...claims,
    async claim(order) {
      await silence.check();
      return await claims.claim(order);
    },
  };
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
