import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { hasChanged, onSame, upsert } from '../db/query.ts';
import type { Row } from '../db/schema.ts';

// The SQL of jobs that were drafted from here, of approvals, and of the hires that followed.

export type Posting = Row<'posting'>;
export type StoredApproval = Row<'approval'>;
export type ApprovalKey = Pick<StoredApproval, 'install' | 'kind' | 'subject'>;

export async function findPosting(tx: Transaction, install: string, jobId: string): Promise<Posting | undefined> {
  const postings = tx.selectFrom('posting').selectAll().where('install', '=', install);
  return await postings.where('jobId', '=', jobId).executeTakeFirst();
}

/** Adds it, or notes what it is missing if it is there. @returns as it is stored */
export async function addPosting(tx: Transaction, posting: Posting): Promise<Posting> {
  const { missing } = posting;
  const added = tx.insertInto('posting').values(posting);
  const noted = added.onConflict((conflict) => conflict.columns(['install', 'draftKey']).doUpdateSet({ missing }));
  return await noted.returningAll().executeTakeFirstOrThrow();
}

export async function changePosting(tx: Transaction, posting: Posting): Promise<void> {
  const { install, draftKey } = posting;
  const same = tx.updateTable('posting').set(posting).where('install', '=', install);
  await same.where('draftKey', '=', draftKey).execute();
}

export async function findApproval(tx: Transaction, key: ApprovalKey): Promise<StoredApproval | undefined> {
  const { install, kind, subject } = key;
  const ofKind = tx.selectFrom('approval').selectAll().where('install', '=', install).where('kind', '=', kind);
  return await ofKind.where('subject', '=', subject).executeTakeFirst();
}

/**
 * Replaces what is stored, if that is still `before`.
 *
 * @returns false if another process was first
 */
export async function replaceApproval(
  tx: Transaction,
  before: StoredApproval | undefined,
  approval: StoredApproval,
): Promise<boolean> {
  if (before === undefined) {
    const insert = tx.insertInto('approval').values(approval);
    const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    return result.numInsertedOrUpdatedRows === 1n;
  }
  const { install, kind, subject, askedAt, status } = before;
  const same = tx.updateTable('approval').set(approval).where('install', '=', install).where('kind', '=', kind);
  const unchanged = same.where('subject', '=', subject).where('askedAt', '=', askedAt).where('status', '=', status);
  return await hasChanged(unchanged);
}

export async function dropApproval(tx: Transaction, { install, kind, subject }: ApprovalKey): Promise<void> {
  const ofKind = tx.deleteFrom('approval').where('install', '=', install).where('kind', '=', kind);
  await ofKind.where('subject', '=', subject).execute();
}

/** Those that are not decided, the oldest first. */
export function listOpenApprovals({ database: { kysely } }: Storage, install?: string): Promise<StoredApproval[]> {
  const open = kysely.selectFrom('approval').selectAll().where('status', 'in', ['asked', 'pending']);
  return (install === undefined ? open : open.where('install', '=', install)).orderBy('askedAt').execute();
}

export function listClaims({ database: { kysely } }: Storage): Promise<Row<'claim'>[]> {
  return kysely.selectFrom('claim').selectAll().orderBy('install').execute();
}

/** Durable when it resolves, because the marketplace shows the tokens only once. */
export async function saveClaim({ database }: Storage, claim: Row<'claim'>): Promise<void> {
  await inTransaction(database, (tx) => upsert(tx, 'claim', ['install'], [claim]), { isDurable: true });
}

export async function noteClaimUrl({ database }: Storage, install: string, url: string): Promise<void> {
  await database.kysely.updateTable('claim').set({ url }).where('install', '=', install).execute();
}

export async function dropClaim({ database }: Storage, install: string): Promise<void> {
  await database.kysely.deleteFrom('claim').where('install', '=', install).execute();
}

/** Clears the links that nobody can use any more. */
export async function dropExpiredLinks({ database: { kysely } }: Storage, now: string): Promise<void> {
  for (const table of ['approval', 'claim'] as const) {
    const expired = kysely.updateTable(table).set({ url: null }).where('expiresAt', '<=', now);
    await expired.where('url', 'is not', null).execute();
  }
}

/** For an install that is removed. */
export async function dropHires(tx: Transaction, install: string): Promise<void> {
  for (const table of ['posting', 'approval', 'claim'] as const) {
    await tx.deleteFrom(table).where('install', '=', install).execute();
  }
}

/** Every job that was drafted from here with each hire for it, and hires for other jobs; the latest first. */
export function listHires({ database: { kysely } }: Storage, install: string | undefined) {
  const every = kysely
    .selectFrom(kysely.selectFrom('approval').selectAll().where('kind', '=', 'proposal_hire').as('approval'))
    .fullJoin('posting', onSame('approval', 'posting', ['install', 'jobId']))
    .leftJoin('contract', onSame('approval', 'contract', ['install', 'contractId']))
    .select([
      sql<string>`coalesce(approval.install, posting.install)`.as('install'),
      sql<string | null>`coalesce(approval.job_id, posting.job_id)`.as('jobId'),
      sql<string | null>`coalesce(posting.title, contract.title)`.as('title'),
      ...(['posting.project', 'draftedAt', 'publishedAt', 'missing'] as const),
      ...(['subject as proposalId', 'approval.contractId', 'approval.status', 'url', 'expiresAt'] as const),
      ...(['askedAt', 'decidedAt'] as const),
      sql<string | null>`coalesce(contract.start_date, contract.started_event_at, contract.active_read_at)`.as(
        'startedAt',
      ),
      sql<string | null>`coalesce(contract.ended_read_at, contract.ended_event_at)`.as('endedAt'),
      sql<string | null>`(
        select coalesce(min(receipt.created_at), min(case membership.state when 'active' then recorded_at end))
        from reason join membership on membership.id = reason.membership_id left join receipt
        on receipt.membership_id = membership.id and receipt.outcome in ('added', 'already_member')
        and receipt.created_at >= recorded_at
        where reason.install = approval.install and reason.contract_id = approval.contract_id
      )`.as('accessAt'),
      sql<string | null>`(
        select min(day) from usage_due
        where usage_due.install = approval.install and usage_due.contract_id = approval.contract_id
      )`.as('workedOn'),
    ])
    .orderBy(sql`coalesce(drafted_at, asked_at)`, 'desc')
    .orderBy('askedAt', 'desc');
  const isOfIt = sql<boolean>`coalesce(approval.install, posting.install) = ${install}`;
  return (install === undefined ? every : every.where(isOfIt)).execute();
}
