import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** What an operator should look at. A line in the log and a count: whoever watches either will know. */
export const alertKinds = [
  'removals_held',
  'contract_disputed',
  'link_outside',
  'tool_left_alone',
  /** Somebody is to be out, and the tool does not tell whether they are. */
  'absence_unproven',
  'marketplace_refuses',
  /** The token of an install is of another customer, or of another app, than the install is bound to. */
  'other_customer',
  /** A tool answers as another server than the one that its people are in. */
  'other_server',
  'managed_address_leaked',
  'removed_member_returned',
  'member_keeps_vanishing',
  'address_changed',
  /** A known id shows somebody else's address: the tool gave it out again, or somebody was renamed. */
  'id_of_another',
  /** Customers know different addresses for one person in one tool. */
  'address_disagreement',
  'contract_suspect',
  /** An install says more of one contract or trainer than is taken in. */
  'evidence_held',
  'clock_drift',
  /** It was ahead, and what it had stamped lay in the future. */
  'clock_set_back',
  'invitation_refused',
  /** It was, and has been enabled again. */
  'endpoint_disabled',
  /** Deliveries do not come, and that is not to be mended by itself. */
  'endpoint_trouble',
  'usage_unread',
  'usage_held',
  'usage_refused',
  'budget_low',
  'budget_depleted',
  'notification_failed',
  /** An install has stored as much as it may. */
  'storage_used_up',
  /** The disk is nearly full, and an install has used its share of the rest. */
  'disk_short',
] as const;

export type AlertKind = (typeof alertKinds)[number];

export interface Alerts {
  /** @param fields of the log line: names and ids, no addresses */
  raise(kind: AlertKind, fields: object, message: string): void;
}

/** @param tell has it told outside too */
export function createAlerts(logger: Logger, metrics: Metrics, tell: Alerts['raise'] = () => undefined): Alerts {
  // A rule that watches for the first of a kind needs the series to be there before it.
  for (const kind of alertKinds) metrics.alerts.inc({ kind }, 0);
  return {
    raise(kind, fields, message) {
      metrics.alerts.inc({ kind });
      logger.warn({ ...fields, alert: kind }, message);
      tell(kind, fields, message);
    },
  };
}
