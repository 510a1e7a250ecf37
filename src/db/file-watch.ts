import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Database } from './database.ts';

const lookEveryMs = 2000;

interface FileWatchDeps {
  database: Pick<Database, 'checkFile'>;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

/** Raises an alert once the files of SQLite are deleted or replaced. The deleted files are still open and can store it. */
export function createFileWatch({ database, alerts, logger, clock }: FileWatchDeps): Loop {
  const look = createFileLook(database, alerts);
  return createLoop({
    name: 'database_file',
    intervalMs: lookEveryMs,
    logger,
    clock,
    async run() {
      look();
      return 'idle';
    },
  });
}

/** What is found is said when it changes, and at the first look. */
export function createFileLook(database: Pick<Database, 'checkFile'>, alerts: Alerts): () => void {
  let wasLost: boolean | undefined;
  return () => {
    const isLost = isFileLost(database);
    if (isLost === wasLost) return;
    wasLost = isLost;
    if (isLost) alerts.raise('database_lost', {});
    else alerts.observe('database_lost', {}, []);
  };
}

function isFileLost(database: Pick<Database, 'checkFile'>): boolean {
  try {
    database.checkFile?.();
    return false;
  } catch {
    return true;
  }
}
