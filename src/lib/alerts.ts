import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** What an operator should look at. Each alert is a line in the log and a count in the metrics. */
export const alertKinds = [
  'removals_held',
  'contract_disputed',
  'link_outside',
  'tool_left_alone',
  /** A member is to be removed, and the tool does not show whether they are out. */
  'absence_unproven',
  'marketplace_refuses',
  /** The contracts of a job are refused, while those of other jobs are answered. */
  'job_unread',
  /** The updates feed of an install has not been read for an hour. */
  'feed_unread',
  /** The token of an install expires soon. */
  'token_expires',
  /** The token of an install belongs to another customer or app than the install is bound to. */
  'other_customer',
  /** A tool answers as another server than the one that its members are in. */
  'other_server',
  'managed_address_leaked',
  'removed_member_returned',
  'member_keeps_vanishing',
  'address_changed',
  /** A known id has an address that is not theirs: the tool gave the id out again, or the account was renamed. */
  'id_of_another',
  /** Customers know different addresses of one trainer in one tool. */
  'address_disagreement',
  'contract_suspect',
  /** An install has more about one contract or trainer than Gangway accepts. */
  'evidence_held',
  'clock_drift',
  /** The clock was ahead, and stored times were in the future. */
  'clock_set_back',
  'invitation_refused',
  /** It was disabled and has been enabled again. */
  'endpoint_disabled',
  /** Deliveries do not come, and Gangway does not repair that by itself. */
  'endpoint_trouble',
  'usage_unread',
  'usage_held',
  'usage_refused',
  /** What was stored as due was not what follows from the sources. It was mended. */
  'usage_miscounted',
  /** A project does not show what is published for its job, and Gangway does not write it by itself. */
  'guideline_unwritten',
  'budget_low',
  'budget_depleted',
  'payment_waiting',
  'notification_failed',
  /** An install has stored as much as it may. */
  'storage_used_up',
  /** The disk is nearly full, and an install has used its share of the rest. */
  'disk_short',
  /** The files of the database were deleted or replaced while they were open. */
  'database_lost',
] as const;

export type AlertKind = (typeof alertKinds)[number];

export interface Alerts {
  /** @param fields the fields of the log line: names and ids, no addresses; and `url`, which only a notice shows */
  raise(kind: AlertKind, fields: object, message: string): void;
  /**
   * Says which alerts of a kind still stand, after everything in a scope was looked at: all others there are over.
   *
   * @param scope the ids of the scope, such as a tool and a group
   * @param standing the fields of each alert that stands, with the ids that identify its subject
   */
  observe(kind: AlertKind, scope: object, standing: readonly object[]): void;
}

const noListener: Alerts = { raise: () => undefined, observe: () => undefined };

export function createAlerts(logger: Logger, metrics: Metrics, listener = noListener): Alerts {
  // A rule that waits for the first alert of a kind needs the series before that alert.
  for (const kind of alertKinds) metrics.alerts.inc({ kind }, 0);
  return {
    raise(kind, fields, message) {
      metrics.alerts.inc({ kind });
      // An address where a person acts may be open to all who have it.
      logger.warn({ ...fields, url: undefined, alert: kind, runbook: runbookOf(kind) }, message);
      listener.raise(kind, fields, message);
    },
    observe: listener.observe,
  };
}

/**
 * Where it says what to do about an alert: in the repository, and beside an installed package.
 *
 * @param kind of an alert, or of its notice
 */
export function runbookOf(kind: AlertKind | `${'alert' | 'budget'}.${string}`): string {
  return `docs/alerts.md#${kind.replace('alert.', '').replace('budget.', 'budget_')}`;
}
