import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { type AlertKind, alertKinds, type RaisedKind, sayInFull, toTrouble } from './troubles.ts';

export interface Alerts {
  /**
   * Raises a trouble that no query finds.
   *
   * @param fields names and ids, without addresses, for the log and for the sentence of the kind
   * @param detail what the sentence does not say
   */
  raise(kind: RaisedKind, fields: object, detail?: string): void;
  /**
   * Says which alerts of a kind are not over, after a look at everything in a scope. All others in the scope are over.
   *
   * @param scope the ids of the scope, such as a tool and a group
   * @param standing the fields of each alert that is not over, with the ids of its subject
   */
  observe(kind: RaisedKind, scope: object, standing: readonly object[]): void;
}

const noListener: Alerts = { raise: () => undefined, observe: () => undefined };

/** Each alert is a line in the log, and counted in the metrics. */
export function createAlerts(logger: Logger, metrics: Metrics, listener = noListener): Alerts {
  // A Prometheus rule that waits for the first alert of a kind needs the series before that alert.
  for (const kind of alertKinds) metrics.alerts.inc({ kind }, 0);
  return {
    raise(kind, fields, detail) {
      logAlert({ logger, metrics }, kind, fields, sayRaised(kind, fields, detail));
      listener.raise(kind, fields, detail);
    },
    observe: listener.observe,
  };
}

export function sayRaised(kind: RaisedKind, fields: object, detail?: string): string {
  const { install, tool, ...rest } = Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, String(value)]],
    ),
  );
  return sayInFull(
    toTrouble({ kind, install: install ?? null, tool: tool ?? null, names: rest, detail: detail ?? null }),
  );
}

export function logAlert(
  { logger, metrics }: { logger: Logger; metrics: Metrics },
  kind: AlertKind,
  fields: object,
  message: string,
): void {
  metrics.alerts.inc({ kind });
  // Whoever has such a URL may be able to act there.
  logger.warn({ ...fields, url: undefined, alert: kind, runbook: runbookOf(kind) }, message);
}

/**
 * The place in the documentation that says what to do about an alert. It is in the repository and in the installed package.
 *
 * @param kind of an alert, or of its notice
 */
export function runbookOf(kind: AlertKind | `${'alert' | 'budget'}.${string}`): string {
  return `docs/operating.md#${kind.replace('alert.', '').replace('budget.', 'budget_')}`;
}
