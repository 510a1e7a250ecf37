import { type Database, inTransaction } from '../db/database.ts';
import { readSetting, writeSetting } from '../db/setting-store.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { InstallStateStore } from './install-state-store.ts';

/**
 * Notices that nobody was here for a while: after that, or with a database from a backup, what lies
 * due may long be wrong, and is not acted on before the marketplace has been asked (section 4.5).
 */

const longestSilenceMs = 3_600_000;
const beatEveryMs = 60_000;

/** Whether no instance has been alive for over an hour; false for a database nobody used yet. */
async function wasSilent(database: Database, clock: Clock): Promise<boolean> {
  const lastAt = await inTransaction(database, (tx) => readSetting(tx, 'last_alive_at'));
  if (lastAt === undefined) return false;
  return clock.now().getTime() - Date.parse(lastAt) > longestSilenceMs;
}

/**
 * Has nothing older than now acted on, after a silence, before every install has been read.
 *
 * @param isRestored whether the database comes from a backup, however short the silence was
 * @returns whether anything is held
 */
export async function holdAfterSilence(
  database: Database,
  installStates: Pick<InstallStateStore, 'hold'>,
  installs: readonly string[],
  clock: Clock,
  isRestored = false,
): Promise<boolean> {
  if (!isRestored && !(await wasSilent(database, clock))) return false;
  await installStates.hold([...installs], toInstant(clock.now()));
  return true;
}

export function createAliveWorker(database: Database, clock: Clock, logger: Logger): Loop {
  return createLoop({
    name: 'alive',
    intervalMs: beatEveryMs,
    logger,
    clock,
    async run() {
      await inTransaction(database, (tx) =>
        writeSetting(tx, 'last_alive_at', toInstant(clock.now())),
      );
      return 'idle';
    },
  });
}
