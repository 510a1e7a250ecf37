import type { Storage } from '../context.ts';
import type { ApprovalKind } from '../domain/approval.ts';
import { listClaims, listOpenApprovals, type StoredApproval } from '../hires/hire-store.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { TroubleFacts } from '../lib/troubles.ts';

const names: Readonly<Record<ApprovalKind, string>> = {
  proposal_hire: 'the hire by proposal',
  milestone_fund: 'the funding of milestone',
  milestone_approve: 'the payment of milestone',
  contract_end: 'the end of contract',
};

/** What waits for a person at the marketplace: approvals, and accounts to claim. */
export async function findApprovals(ctx: Storage & { clock: Clock }): Promise<TroubleFacts[]> {
  const now = toInstant(ctx.clock.now());
  const open = (await listOpenApprovals(ctx)).filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  const claims = (await listClaims(ctx)).filter(({ expiresAt }) => expiresAt > now);
  return [
    ...open.map(toApproval),
    ...claims.map(({ install, url, expiresAt }): TroubleFacts => {
      const action = url !== null && { action: `Claim it at ${url} until ${expiresAt}` };
      return { kind: 'claim_waiting', install, url, ...action };
    }),
  ];
}

function toApproval({ install, kind, subject, status, url, askedAt, expiresAt }: StoredApproval): TroubleFacts {
  const about = { approval: subject };
  const approval = `${names[kind]} ${subject}`;
  const facts = { install, since: askedAt, about, names: { approval } };
  if (status === 'asked') return { kind: 'approval_lost', ...facts };
  return { kind: 'approval_waiting', ...facts, url, action: `Confirm or decline it at ${url} until ${expiresAt}` };
}
