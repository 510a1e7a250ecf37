import { instantIn } from '../../lib/clock.ts';
import type { CheckDriftDeps } from './check-drift.ts';
import { findGroups, judgeFoundAgain, judgeGroup, judgeMissing, listGroup, membershipIdOf } from './judge-group.ts';

/** What comparing an install's groups with what is known would come to, by membership. */
export interface DriftAhead {
  /** Whom the tool does not list: to be put back. */
  missing: ReadonlySet<number>;
  /** Whom we had removed and who are there again, with when they may be removed again. */
  foundAgain: ReadonlyMap<number, string>;
}

export type PreviewDrift = (install: string, signal: AbortSignal) => Promise<DriftAhead>;

/** As `createCheckDrift`, by the same judgement: nothing is written, nobody is told. */
export function createPreviewDrift(deps: CheckDriftDeps): PreviewDrift {
  return async (install, signal) => {
    const missing: number[] = [];
    const foundAgain: [number, string][] = [];
    for (const group of await findGroups(deps, install)) {
      // As there: a listing that failed judges nobody.
      const listing = await listGroup(deps, group, signal).catch(() => null);
      signal.throwIfAborted();
      if (listing === null) continue;
      const { kysely } = deps.database;
      const { verdicts, stillIn } = await judgeGroup(deps, kysely, group, listing);
      missing.push(...(await judgeMissing(deps, kysely, verdicts)).filter(isDue).map(membershipIdOf));
      const again = (await judgeFoundAgain(deps, kysely, verdicts, install)).map(membershipIdOf);
      const removeAfter = instantIn(deps.clock, deps.graceMs);
      foundAgain.push(...again.map((id): [number, string] => [id, removeAfter]));
      // They count as out, and are looked at and taken out at once.
      const undecided = await deps.drifts.undecided(kysely, stillIn);
      const late = stillIn.filter((id) => !undecided.has(id));
      foundAgain.push(...late.map((id): [number, string] => [id, listing.listedAt]));
    }
    return { missing: new Set(missing), foundAgain: new Map(foundAgain) };
  };
}

function isDue(one: { isDue: boolean }): boolean {
  return one.isDue;
}
