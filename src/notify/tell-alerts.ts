import { createHash } from 'node:crypto';
import { type Database, inTransaction } from '../db/database.ts';
import type { AlertNotice } from '../domain/notice.ts';
import type { AlertKind } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { maskText } from '../lib/mask.ts';
import type { NoticeStore } from './notice-store.ts';

export interface TellAlertsDeps {
  database: Database;
  notices: Pick<NoticeStore, 'addAlert' | 'hasAlertSince'>;
  logger: Logger;
  clock: Clock;
}

/** Has alerts told outside, whichever process raised them. */
export interface TellAlerts {
  tell(kind: AlertKind, fields: object, message: string): void;
  /** Resolves when all that was to be told so far is stored: a process must not end before. */
  settled(): Promise<void>;
}

/** Budgets have notices of their own, and what a channel does not take cannot be told by it. */
const notifiedElsewhere: ReadonlySet<AlertKind> = new Set(['budget_low', 'budget_depleted', 'notification_failed']);

/** So long the same of the same is not told again: what lasts is found again by every reading. */
const quietMs = 86_400_000;
/** What may be over and come again is news after an hour. */
const passing: ReadonlySet<AlertKind> = new Set(['tool_left_alone', 'endpoint_disabled']);
const passingQuietMs = 3_600_000;

/** What an alert is about, of the fields of its line in the log: ids and names, no numbers. */
const subjectFields = [
  'install',
  'tool',
  'group',
  'contract',
  'contracts',
  'trainer',
  'membership',
  'link',
  'project',
  'plan',
  'scope',
  'endpointId',
  'reason',
  'errorCode',
];

export function createTellAlerts({ database, notices, logger, clock }: TellAlertsDeps): TellAlerts {
  let pending: Promise<void> = Promise.resolve();

  async function store(kind: AlertKind, notice: AlertNotice): Promise<void> {
    const subject = JSON.stringify([kind, notice.about]);
    const digest = createHash('sha256').update(subject).digest('hex');
    const quietFor = passing.has(kind) ? passingQuietMs : quietMs;
    const since = new Date(Date.parse(notice.occurredAt) - quietFor);
    if (await notices.hasAlertSince(digest, toInstant(since))) return;
    await inTransaction(database, (tx) => notices.addAlert(tx, notice, digest));
  }

  return {
    tell(kind, fields, message) {
      if (notifiedElsewhere.has(kind)) return;
      const notice: AlertNotice = {
        kind: `alert.${kind}`,
        occurredAt: toInstant(clock.now()),
        message: maskText(message),
        about: aboutOf(fields),
      };
      pending = pending
        .then(() => store(kind, notice))
        .catch((thrown: unknown) => {
          logger.warn({ err: thrown, notTold: kind }, 'An alert could not be kept to be told');
        });
    },
    settled: () => pending,
  };
}

const longestValue = 200;

function aboutOf(fields: object): Record<string, string> {
  const values = subjectFields.flatMap((name) => {
    const value: unknown = Reflect.get(fields, name);
    if (value === undefined || value === null) return [];
    const text = Array.isArray(value) ? value.join(', ') : String(value);
    return [[name, maskText(text).slice(0, longestValue).toWellFormed()] as const];
  });
  return Object.fromEntries(values);
}
