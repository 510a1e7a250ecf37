import { createHash } from 'node:crypto';
import { type Database, inTransaction } from '../db/database.ts';
import type { AlertNotice } from '../domain/notice.ts';
import type { AlertKind } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { maskText } from '../lib/mask.ts';
import type { NoticeStore } from './notice-store.ts';

export interface AlertNoticesDeps {
  database: Database;
  notices: Pick<NoticeStore, 'addAlert' | 'hasAlertSince'>;
  logger: Logger;
  clock: Clock;
}

/** Turns alerts into notices, whichever process raised them. */
export interface AlertNotices {
  announce(kind: AlertKind, fields: object, message: string): void;
  /** Resolves when all alerts so far are stored. A process must not end before. */
  settled(): Promise<void>;
}

/** Budgets have notices of their own, and a channel that fails cannot report that itself. */
const notifiedElsewhere: ReadonlySet<AlertKind> = new Set(['budget_low', 'budget_depleted', 'notification_failed']);

/** The same alert about the same subject is noticed again after so long: every reading finds it again. */
const quietMs = 86_400_000;
/** Alerts that come and go are news again after an hour. */
const passing: ReadonlySet<AlertKind> = new Set(['tool_left_alone', 'endpoint_disabled']);
const passingQuietMs = 3_600_000;

/** What an alert is about, from the fields of its log line: ids and names, no numbers. */
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

export function createAlertNotices({ database, notices, logger, clock }: AlertNoticesDeps): AlertNotices {
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
    announce(kind, fields, message) {
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
          logger.warn({ err: thrown, notStored: kind }, 'A notice of an alert could not be stored');
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
