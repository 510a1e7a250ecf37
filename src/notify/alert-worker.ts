import { inTransaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import { type AlertNoticesDeps, announceStanding, endAlert } from './alert-notices.ts';
import { type Asked, ruleOf } from './alert-rules.ts';
import { listStandingAlerts, lockAlertAgain, type StoredAlert } from './alert-store.ts';

export interface AlertWorkerDeps extends AlertNoticesDeps, Polling {
  asked: Omit<Asked, 'now'>;
}

const usualPollMs = 1000;
/** A notice goes to people: a quarter of a minute later is soon enough, and one query when nothing stands. */
const pollsPerBeat = 15;
const pageSize = 100;
/**
 * An alert may be raised a moment before the transaction that stores its trouble is committed. Asked that early, it
 * would be over.
 */
const settlesMs = 60_000;

/** Asks of every alert that stands whether its trouble still does. Any instance may; one of them says that it is over. */
export function createAlertWorker(deps: AlertWorkerDeps): Loop {
  const { logger, clock, pollMs = usualPollMs } = deps;
  return createLoop({
    name: 'alerts',
    intervalMs: pollMs * pollsPerBeat,
    logger,
    clock,
    async run(signal, beat) {
      await askAlerts(deps, signal, beat);
      return 'idle';
    },
  });
}

export async function askAlerts(deps: AlertWorkerDeps, signal: AbortSignal, beat: () => void): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    const page = await listStandingAlerts(deps, { after, limit: pageSize });
    for (const row of page) {
      if (signal.aborted) return;
      await askAlert(deps, row);
    }
    beat();
    if (page.length < pageSize) return;
    after = page.at(-1)?.id ?? after;
  }
}

/** A question that fails is asked again at the next beat, and the other alerts do not wait for it. */
async function askAlert(deps: AlertWorkerDeps, row: StoredAlert): Promise<void> {
  try {
    if (await isOver(deps, row)) await endAlert(deps, row);
    else await remind(deps, row);
  } catch (thrown) {
    deps.logger.warn({ err: thrown, alert: row.kind }, 'It could not be asked whether an alert is over');
  }
}

async function isOver({ asked, clock }: AlertWorkerDeps, { kind, subject, seenAt }: StoredAlert): Promise<boolean> {
  const rule = ruleOf(kind);
  if (rule?.stands === undefined) return false;
  const now = clock.now();
  if (now.getTime() - Date.parse(seenAt) < settlesMs) return false;
  return !(await rule.stands({ ...asked, now }, subject, seenAt));
}

/** Mostly nothing is due, and then no row is locked. */
async function remind(deps: AlertWorkerDeps, row: StoredAlert): Promise<void> {
  const { database, repeatMs, clock } = deps;
  const isRecent = Date.parse(toInstant(clock.now())) - Date.parse(row.announcedAt ?? '') < repeatMs;
  if (row.isAnnounced && isRecent) return;
  await inTransaction(database, async (tx) => {
    const current = await lockAlertAgain(deps, tx, row.id);
    if (current?.overAt === null) await announceStanding(deps, tx, current);
  });
}
