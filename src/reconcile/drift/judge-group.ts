import type { Adapter, Member } from '../../adapters/adapter.ts';
import type { Transaction } from '../../db/database.ts';
import { domainOf } from '../../domain/marketplace-text.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import { type Clock, instantIn } from '../../lib/clock.ts';
import type { RouteLink } from '../../memberships/link-router.ts';
import { isProtected } from '../../tools/protected-account.ts';
import { type ListMembers, readGroup } from '../../tools/read-group.ts';
import type { DriftStore, Group } from './drift-store.ts';
import { type DriftVerdict, judgeAddBack, judgeDrift, judgeUnconfirmed, type ListedAccount } from './judge-drift.ts';
import type { GroupDrift } from './report-drift.ts';

/** Listing a group and judging what it shows: the same for the run and the dry run. Writes nothing. */
export interface JudgeGroupDeps {
  drifts: DriftStore;
  box: Pick<SecretBox, 'digests'>;
  adapters: ReadonlyMap<string, Adapter>;
  /** By tool: accounts that are never touched, as addresses or the tool's ids. */
  protectedAccounts: ReadonlyMap<string, readonly string[]>;
  managedDomains: readonly string[];
  routeLink: RouteLink;
  clock: Clock;
}

/** By how much two instances may differ in the time: a call of just before the listing counts too. */
const clockMarginMs = 5000;
const listingTimeoutMs = 60_000;
/** Beyond that a group is not compared. */
const maxMembers = 50_000;
/** Per group and run; the rest, those that were looked at last, are left to the next. */
export const maxChanges = 200;
/** Groups that nobody was in for that long are no longer listed. */
const lookBackMs = 30 * 24 * 3_600_000;

/** Those that the configuration leads to: an install never acts, or looks, outside of its walls. */
export async function findGroups(
  { drifts, adapters, routeLink, clock }: JudgeGroupDeps,
  install: string,
): Promise<Group[]> {
  const routed = new Set<string>();
  for (const link of await drifts.linksOf(install)) {
    const route = routeLink(link);
    if (route !== undefined) routed.add(groupKeyOf(route));
  }
  const groups = await drifts.groupsOf(install, instantIn(clock, -lookBackMs));
  const isListed = (group: Group) => adapters.get(group.tool)?.listMembers !== undefined;
  return groups.filter((group) => isListed(group) && routed.has(groupKeyOf(group)));
}

/** What the tool lists in a group, and since when that may be so. @throws AppError */
export async function listGroup(
  { adapters, clock }: Pick<JudgeGroupDeps, 'adapters' | 'clock'>,
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

/** What the listing says of everybody. */
export async function judgeGroup(
  deps: JudgeGroupDeps,
  db: Transaction,
  group: Group,
  { members, listedAt }: ListedGroup,
): Promise<GroupVerdicts> {
  const accounts = members.map((member) => toAccount(deps, group.tool, member));
  const known = await deps.drifts.membersOf(db, group, listedAt);
  return { verdicts: judgeDrift(known, accounts), ...judgeUnconfirmed(known, accounts) };
}

/** Whom the listing misses, and whether they are to be put back now. */
export async function judgeMissing(
  { drifts, clock }: JudgeGroupDeps,
  tx: Transaction,
  verdicts: DriftVerdict[],
): Promise<GroupDrift['vanishing']> {
  const missing = idsOf(verdicts, 'missing');
  const arrivals = await drifts.arrivalsOf(tx, missing);
  return missing.map((membershipId) => ({
    membershipId,
    ...judgeAddBack(arrivals.get(membershipId) ?? [], clock.now()),
  }));
}

/**
 * Whom we had removed and who are to go again; not those for whom there may be a reason that is not
 * known yet.
 *
 * @param reading an install of which all is known now
 */
export async function judgeFoundAgain(
  { drifts }: JudgeGroupDeps,
  tx: Transaction,
  verdicts: DriftVerdict[],
  reading?: string,
): Promise<{ membershipId: number; memberId: string }[]> {
  const found = verdicts.filter((verdict) => verdict.kind === 'found_again').slice(0, maxChanges);
  const undecided = await drifts.undecided(tx, found.map(membershipIdOf), reading);
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

function toAccount(
  { box, managedDomains, protectedAccounts }: JudgeGroupDeps,
  tool: string,
  member: Member,
): ListedAccount {
  const address = member.email?.toLowerCase() ?? null;
  return {
    id: member.id,
    digests: address === null ? [] : box.digests(address),
    isManaged: address !== null && managedDomains.includes(domainOf(address)),
    isProtected: isProtected(protectedAccounts.get(tool) ?? [], member),
  };
}

export function groupKeyOf({ tool, groupId }: Group): string {
  return JSON.stringify([tool, groupId]);
}
