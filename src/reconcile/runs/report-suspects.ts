import type { Alerts } from '../../lib/alerts.ts';
import { type Clock, instantIn } from '../../lib/clock.ts';
import type { SuspectStore } from './suspect-store.ts';

/** Raises an alert for contracts of an install that are in no list for a day. */
export type ReportSuspects = (install: string) => Promise<void>;

interface ReportSuspectsDeps {
  suspects: SuspectStore;
  alerts: Alerts;
  clock: Clock;
}

const alertAfterMs = 24 * 3_600_000;
/** At most this many contracts are named. */
const maxNamed = 5;

/** One alert, until another contract is added or the process ends. */
export function createReportSuspects(deps: ReportSuspectsDeps): ReportSuspects {
  const { suspects, alerts, clock } = deps;
  /** By install: the contracts that were reported. */
  const reported = new Map<string, ReadonlySet<string>>();
  return async (install) => {
    const suspectBefore = instantIn(clock, -alertAfterMs);
    const old = (await suspects.list(install)).filter(({ since }) => since <= suspectBefore);
    const before = reported.get(install);
    const ids = old.map(({ contractId }) => contractId);
    reported.set(install, new Set(ids));
    if (ids.every((id) => before?.has(id))) return;
    alerts.raise(
      'contract_suspect',
      { install, suspects: ids.length, contracts: ids.slice(0, maxNamed), since: old[0]?.since },
      'Contracts are no longer listed, and nothing says that they ended: their people keep access until "gangway contracts end"',
    );
  };
}
