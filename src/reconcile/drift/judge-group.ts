import type { Member } from '../../adapters/adapter.ts';
import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { domainOf } from '../../domain/marketplace-text.ts';
import { instantIn } from '../../lib/clock.ts';
import { isProtected } from '../../tools/accounts.ts';
import { type ListMembers, readGroup } from '../../tools/call-tool.ts';
import {
  arrivalsOf,
  comparedMembersOf,
  driftLinksOf,
  type Group,
  groupKeyOf,
  groupsOfInstall,
  undecidedAmong,
} from './drift-store.ts';
import { type DriftVerdict, judgeAddBack, judgeDrift, judgeUnconfirmed, type ListedAccount } from './judge-drift.ts';
import type { GroupDrift } from './report-drift.ts';

// Lists a group and compares it, in the same way for a run and a dry run. Writes nothing.

/** The clocks of two instances may differ by this, so a call from just before the listing counts too. */
const clockMarginMs = 5000;
const listingTimeoutMs = 60_000;
/** A larger group is not compared. */
const maxMembers = 50_000;
/** Changes for each group and run. The rest waits for the next run; the longest waiting come first. */
export const maxChanges = 200;
/** Groups without members for this long are no longer listed. */
const lookBackMs = 30 * 24 * 3_600_000;

/** The groups that the configuration routes to: an install never looks outside of its projects. */
export async function findGroups(ctx: Context, install: string): Promise<Group[]> {
  const routed = new Set<string>();
  for (const link of await driftLinksOf(ctx, install)) {
    const route = ctx.routeLink(link);
    if (route !== undefined) routed.add(groupKeyOf(route));
  }
  const groups = await groupsOfInstall(ctx, install, instantIn(ctx.clock, -lookBackMs));
  const isListed = (group: Group) => ctx.adapters.get(group.tool)?.listMembers !== undefined;
  return groups.filter((group) => isListed(group) && routed.has(groupKeyOf(group)));
}

/** What the tool lists in a group, and the earliest time from which that may hold. @throws AppError */
export async function listGroup(
  { adapters, clock }: Context,
  { tool, groupId }: Group,
  signal: AbortSignal,
): Promise<ListedGroup | null> {
  const adapter = adapters.get(tool);
  if (adapter?.listMembers === undefined) return null;
  const list: ListMembers = adapter.listMembers.bind(adapter);
  const listedAt = instantIn(clock, -clockMarginMs);
  const limits = { timeoutMs: listingTimeoutMs, maxMembers };
  return { listedAt, members: await readGroup(list, groupId, limits, signal) };
}

export interface ListedGroup {
  listedAt: string;
  members: Member[];
}

export interface GroupVerdicts extends ReturnType<typeof judgeUnconfirmed> {
  verdicts: DriftVerdict[];
}

/** What the listing says about each member. */
export async function judgeGroup(
  ctx: Context,
  db: Transaction,
  group: Group,
  { members, listedAt }: ListedGroup,
): Promise<GroupVerdicts> {
  const accounts = members.map((member) => toAccount(ctx, group.tool, member));
  const known = await comparedMembersOf(ctx, db, group, { listedAt, accounts });
  return { verdicts: judgeDrift(known, accounts), ...judgeUnconfirmed(known, accounts) };
}

/** The wanted members that the listing does not show, and whether they are added back now. */
export async function judgeMissing(
  ctx: Context,
  tx: Transaction,
  verdicts: DriftVerdict[],
): Promise<GroupDrift['vanishing']> {
  const missing = idsOf(verdicts, 'missing');
  const arrivals = await arrivalsOf(tx, missing);
  return missing.map((membershipId) => ({
    membershipId,
    ...judgeAddBack(arrivals.get(membershipId) ?? [], ctx.clock.now()),
  }));
}

/**
 * The members that Gangway had removed and removes again, without those for which there may be a
 * reason that is not derived yet.
 *
 * @param reading an install whose evidence is complete now
 */
export async function judgeFoundAgain(
  tx: Transaction,
  verdicts: DriftVerdict[],
  reading?: string,
): Promise<{ membershipId: number; memberId: string }[]> {
  const found = verdicts.filter((verdict) => verdict.kind === 'found_again').slice(0, maxChanges);
  const undecided = await undecidedAmong(tx, found.map(membershipIdOf), reading);
  return found.filter((one) => !undecided.has(membershipIdOf(one)));
}

export function membershipIdOf({ membershipId }: { membershipId: number }): number {
  return membershipId;
}

type LookedAt = 'missing' | 'id_changed' | 'address_changed';

export function idsOf(verdicts: DriftVerdict[], kind: LookedAt): number[] {
  const ids = verdicts.flatMap((verdict) => (verdict.kind === kind ? [verdict.membershipId] : []));
  return ids.slice(0, maxChanges);
}

function toAccount({ box, config }: Context, tool: string, member: Member): ListedAccount {
  const address = member.email?.toLowerCase() ?? null;
  return {
    id: member.id,
    digests: address === null ? [] : [box.digest(address)],
    isManaged: address !== null && config.marketplace.managedDomains.includes(domainOf(address)),
    isProtected: isProtected(config.tools.get(tool)?.protected ?? [], member),
  };
}

/** What the comparison of an install's groups would lead to, by membership. */
interface DriftAhead {
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
