import type { Context } from '../../context.ts';
import { instantIn } from '../../lib/clock.ts';
import { undecidedAmong } from './drift-store.ts';
import { findGroups, judgeFoundAgain, judgeGroup, judgeMissing, listGroup, membershipIdOf } from './judge-group.ts';

/** What the comparison of an install's groups would lead to, by membership. */
export interface DriftAhead {
  /** Members that the tool does not list. They would be added back. */
  missing: ReadonlySet<number>;
  /** Members that Gangway had removed and that are listed again, with the time from which it may remove them. */
  foundAgain: ReadonlyMap<number, string>;
}

/** Judges as `checkDrift` does, but writes nothing and raises no alert. */
export async function previewDrift(ctx: Context, install: string, signal: AbortSignal): Promise<DriftAhead> {
  const missing: number[] = [];
  const foundAgain: [number, string][] = [];
  for (const group of await findGroups(ctx, install)) {
    // As in a run, a failed listing changes nothing.
    const listing = await listGroup(ctx, group, signal).catch(() => null);
    signal.throwIfAborted();
    if (listing === null) continue;
    const { kysely } = ctx.database;
    const { verdicts, stillIn } = await judgeGroup(ctx, kysely, group, listing);
    missing.push(...(await judgeMissing(ctx, kysely, verdicts)).filter(isDue).map(membershipIdOf));
    const again = (await judgeFoundAgain(kysely, verdicts, install)).map(membershipIdOf);
    const removeAfter = instantIn(ctx.clock, ctx.config.removals.graceMs);
    foundAgain.push(...again.map((id): [number, string] => [id, removeAfter]));
    // They count as removed, so they are looked at and removed at once.
    const undecided = await undecidedAmong(kysely, stillIn);
    const late = stillIn.filter((id) => !undecided.has(id));
    foundAgain.push(...late.map((id): [number, string] => [id, listing.listedAt]));
  }
  return { missing: new Set(missing), foundAgain: new Map(foundAgain) };
}

function isDue(one: { isDue: boolean }): boolean {
  return one.isDue;
}
