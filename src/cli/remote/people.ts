import { setTimeout as wait } from 'node:timers/promises';
import type { Handover } from '../../converge/handover-store.ts';
import type { InvitationContent } from '../../domain/invitation.ts';
import type { OrphanedMembership, Retired } from '../../memberships/ownership-store.ts';
import type { Approved } from '../../operator/approve-plan.ts';
import type { Forgotten } from '../../privacy/forget-person.ts';
import type { ListedFinding, ListedGroupDrift } from '../../reconcile/drift/finding-store.ts';
import type { Plan, PlanResult } from '../../removals/plan-store.ts';
import type { Printed } from '../define-command.ts';
import { type DriftOptions, printDrift } from '../drift-command.ts';
import { type Explained, printExplained } from '../explain-command.ts';
import { type ForgetOptions, printForgotten } from '../forget-command.ts';
import { printInvitation, printRenewed } from '../invitation-commands.ts';
import {
  type Adoption,
  type Decided,
  decideEach,
  type Listed,
  type MemberFilter,
  mostUndecided,
  type Outcome,
  printMembers,
  type Releasing,
} from '../members-command.ts';
import {
  type Approval,
  type PlanFilter,
  printApproved,
  printPlan,
  printPlans,
  printRejected,
  type ShownItem,
  toOnly,
} from '../plans-command.ts';
import { printOrphans, printRetired, type RetireOptions } from '../retire-command.ts';
import type { RemoteSession } from '../session.ts';
import { printStatus, type StatusOptions } from '../status-command.ts';

/** Who is in the tools, why, and who is to leave, as a running instance says. */

export async function askStatus({ since, exitCode }: StatusOptions, remote: RemoteSession): Promise<Printed> {
  const minutes = Math.max(1, Math.ceil(since / 60_000));
  const asked = minutes < 10_000 ? `${minutes}m` : `${Math.ceil(minutes / 60)}h`;
  return printStatus(await remote.ask('GET /status', { query: { since: asked } }), exitCode);
}

export async function askMembers(filter: MemberFilter, remote: RemoteSession): Promise<Printed> {
  const { tool, state, waiting, undecided, leaving, limit } = filter;
  const query = { tool, state, undecided: undecided || undefined, leaving: leaving || undefined };
  const found = waiting
    ? await listWaiting(remote, tool, limit)
    : await remote.list<Listed>('GET /memberships', query, limit);
  return printMembers(found, filter);
}

async function listWaiting(remote: RemoteSession, tool: string | undefined, limit: number): Promise<Listed[]> {
  const query = { tool, limit: Math.min(limit, mostOfOnePage) };
  return (await remote.ask<{ items: Listed[] }>('GET /waiting', { query })).items;
}

/** For lists that have one page. */
const mostOfOnePage = 500;

interface OfMembership {
  membership: number;
}

export async function askInvitation({ membership }: OfMembership, remote: RemoteSession): Promise<Printed> {
  const params = { membership };
  const { invitation } = await remote.ask<{ invitation: InvitationContent & Pick<Handover, 'expiresAt'> }>(
    'POST /memberships/{membership}/invitation',
    { params },
  );
  const { expiresAt, ...content } = invitation;
  return printInvitation(membership, { content, expiresAt });
}

export async function askRenew({ membership }: OfMembership, remote: RemoteSession): Promise<Printed> {
  await remote.ask('POST /memberships/{membership}/invitation/renew', { params: { membership } });
  return printRenewed(membership);
}

export async function askAdopt({ account, address, ...decided }: Adoption, remote: RemoteSession): Promise<Printed> {
  return await askEach(decided, 'adopt', { account, address }, remote);
}

export async function askRelease({ doubted, ...decided }: Releasing, remote: RemoteSession): Promise<Printed> {
  return await askEach(decided, 'release', { doubted }, remote);
}

async function askEach(
  decided: Decided,
  decision: 'adopt' | 'release',
  body: object,
  remote: RemoteSession,
): Promise<Printed> {
  return await decideEach(
    decided,
    decision,
    (tool) => remote.list<Listed>('GET /memberships', { tool, undecided: true }, mostUndecided),
    async (membership) => {
      const asked = { params: { membership }, body };
      const { outcome } = await remote.ask<{ outcome: Outcome }>(`POST /memberships/{membership}/${decision}`, asked);
      return outcome;
    },
  );
}

export async function askExplain({ subject }: { subject: string }, remote: RemoteSession): Promise<Printed> {
  return printExplained(await remote.ask<Explained>('GET /explain', { query: { subject } }));
}

interface FoundDrift {
  groups: ListedGroupDrift[];
  found: ListedFinding[];
}

export async function askDrift({ tool, group, limit }: DriftOptions, remote: RemoteSession): Promise<Printed> {
  const query = { tool, group, limit: Math.min(limit, mostOfOnePage) };
  const { groups, found } = await remote.ask<FoundDrift>('GET /drift', { query });
  return printDrift(groups, found);
}

const mostPlans = 10_000;

export async function askPlansList({ install, state, all }: PlanFilter, remote: RemoteSession): Promise<Printed> {
  const wanted = all ? undefined : (state ?? 'open');
  const plans = await remote.list<Plan>('GET /plans', { install, state: wanted }, mostPlans);
  return printPlans(plans.reverse());
}

export async function askPlansShow({ plan: id }: { plan: number }, remote: RemoteSession): Promise<Printed> {
  const { items, ...plan } = await remote.ask<Plan & { items: ShownItem[] }>('GET /plans/{plan}', {
    params: { plan: id },
  });
  return printPlan(plan, items);
}

/** The instance carries it out, and is not waited for. */
export async function askPlansApprove(
  { plan, only, withoutReading }: Approval,
  remote: RemoteSession,
): Promise<Printed> {
  const body = { only: toOnly(only), withoutReading };
  const asked = { params: { plan }, body };
  let { approval, result } = await remote.ask<AskedApproval>('POST /plans/{plan}/approve', asked);
  while (result === null) {
    await wait(lookEveryMs);
    const params = { plan, approval };
    ({ result } = await remote.ask<AskedApproval>('GET /plans/{plan}/approvals/{approval}', { params }));
  }
  return printApproved(plan, result, false);
}

/** Without a result while the instance reads the marketplace. */
interface AskedApproval {
  approval: string;
  result: Approved | null;
}

const lookEveryMs = 500;

export async function askPlansReject(
  { plan, only }: { plan: number; only: number[] },
  remote: RemoteSession,
): Promise<Printed> {
  const asked = { params: { plan }, body: { only: toOnly(only) } };
  const { plan: _, ...rejected } = await remote.ask<PlanResult & { plan: number }>('POST /plans/{plan}/reject', asked);
  return printRejected(plan, rejected);
}

export async function askRetire({ install, tool, yes }: RetireOptions, remote: RemoteSession): Promise<Printed> {
  if (!yes) {
    const { orphans } = await remote.ask<{ orphans: OrphanedMembership[] }>('GET /orphans', {
      query: { install, tool },
    });
    const { tools } = await remote.ask<{ tools: { tool: string }[] }>('GET /tools');
    return printOrphans(orphans, new Set(tools.map((one) => one.tool)));
  }
  const body = install === undefined && tool === undefined ? { all: true } : { install, tool };
  const answer = await remote.ask<{ orphans: OrphanedMembership[]; retired: Retired }>('POST /retire', { body });
  return printRetired(answer.orphans, answer.retired);
}

export async function askForget({ person, install, dryRun }: ForgetOptions, remote: RemoteSession): Promise<Printed> {
  const body = { person, install, dryRun };
  const { dryRun: isDry, ...forgotten } = await remote.ask<Forgotten & { dryRun: boolean }>('POST /forget', { body });
  return printForgotten(forgotten, isDry);
}
