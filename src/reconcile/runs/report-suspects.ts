import type { Storage } from '../../keys/storage.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { type Clock, instantIn } from '../../lib/clock.ts';
import { listSuspects } from './suspect-store.ts';

const suspectMessage =
  'A contract is no longer listed, and nothing says that it ended: its people keep access until "gangway contracts end"';

/** Raises an alert for contracts of an install that are in no list for a day. */
export type ReportSuspects = (install: string) => Promise<void>;

interface ReportSuspectsDeps extends Storage {
  alerts: Alerts;
  clock: Clock;
}

const alertAfterMs = 24 * 3_600_000;
/** If more are new, one alert is about all of the install. */
const maxNamed = 5;

/** One alert for each contract, until it is listed again or the process ends. */
export function createReportSuspects(deps: ReportSuspectsDeps): ReportSuspects {
  const { alerts, clock } = deps;
  /** By install: the contracts that were reported. */
  const reported = new Map<string, ReadonlySet<string>>();
  return async (install) => {
    const suspectBefore = instantIn(clock, -alertAfterMs);
    const old = (await listSuspects(deps, [install])).filter(({ since }) => since <= suspectBefore);
    const before = reported.get(install);
    reported.set(install, new Set(old.map(({ contractId }) => contractId)));
    const fresh = old.filter(({ contractId }) => before?.has(contractId) !== true);
    const raise = (fields: object) =>
      alerts.raise('contract_suspect', { install, suspects: old.length, ...fields }, suspectMessage);
    if (fresh.length > maxNamed) {
      const contracts = fresh.slice(0, maxNamed).map(({ contractId }) => contractId);
      raise({ contracts, since: fresh[0]?.since });
      return;
    }
    for (const { contractId: contract, since } of fresh) raise({ contract, since });
  };
}
