import type { Alerts } from '../../lib/alerts.ts';
import { type Clock, instantIn } from '../../lib/clock.ts';
import type { SuspectStore } from './suspect-store.ts';

/** Tells an operator of contracts of an install that could not be confirmed for a day. */
export type ReportSuspects = (install: string) => Promise<void>;

interface ReportSuspectsDeps {
  suspects: SuspectStore;
  alerts: Alerts;
  clock: Clock;
}

const tellAfterMs = 24 * 3_600_000;
/** So many are named; the number says the rest. */
const maxNamed = 5;

/** Once, as long as none is added and this process lives. */
export function createReportSuspects(deps: ReportSuspectsDeps): ReportSuspects {
  const { suspects, alerts, clock } = deps;
  /** By install, which ones. */
  const told = new Map<string, ReadonlySet<string>>();
  return async (install) => {
    const tellBefore = instantIn(clock, -tellAfterMs);
    const old = (await suspects.list(install)).filter(({ since }) => since <= tellBefore);
    const before = told.get(install);
    const ids = old.map(({ contractId }) => contractId);
    told.set(install, new Set(ids));
    if (ids.every((id) => before?.has(id))) return;
    alerts.raise(
      'contract_suspect',
      { install, suspects: ids.length, contracts: ids.slice(0, maxNamed), since: old[0]?.since },
      'Contracts are no longer listed, and nothing says that they ended: their people keep access until "gangway contracts end"',
    );
  };
}
