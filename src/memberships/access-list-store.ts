import { type ExpressionBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { MembershipState } from '../domain/membership.ts';
import { isAfterLeaving, type LeavingKey, leavesAt, leaving, trainerName } from './membership-list-store.ts';

/** The SQL of searching who is in which project, the newest membership first. */

export interface AccessFilter {
  state?: MembershipState | undefined;
  install?: string | undefined;
  tool?: string | undefined;
  /** The customer's id of the project, or the id of the group in the tool. */
  project?: string | undefined;
  trainerId?: string | undefined;
  /** A contract that is, or was, a reason. */
  contractId?: string | undefined;
  /** Part of a name or of a project, or a whole id; or an address, by its digest. */
  search?: { text: string; digest: string } | undefined;
  /** Only memberships with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  /** Only members whose access is due to end, the soonest first. */
  isLeaving?: boolean | undefined;
  /** In that order, only what comes after this one. */
  afterLeaving?: LeavingKey | undefined;
  limit: number;
}

export type Access = Pick<
  Row<'membership'>,
  | 'id'
  | 'tool'
  | 'groupId'
  | 'trainerId'
  | 'install'
  | 'state'
  | 'wanted'
  | 'failure'
  | 'doubtedId'
  | 'cause'
  | 'updatedAt'
  | 'removeAfter'
> & { displayName: string | null; reasons: AccessReason[] };

/** A recorded reason, whether it stands or not. */
export interface AccessReason {
  membershipId: number;
  install: string;
  contractId: string;
  linkId: string;
  title: string | null;
  endDate: string | null;
  externalProjectId: string | null;
  externalProjectName: string | null;
}

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

export async function listAccess(kysely: Transaction, filter: AccessFilter): Promise<Access[]> {
  const { state, install, tool, project, trainerId, contractId, search, before, isLeaving, afterLeaving, limit } =
    filter;
  let query = kysely
    .selectFrom('membership')
    .select((eb) => [
      'id',
      'tool',
      'groupId',
      'membership.trainerId',
      'membership.install',
      'state',
      'wanted',
      'failure',
      'doubtedId',
      'cause',
      'updatedAt',
      'removeAfter',
      trainerName(eb),
    ]);
  if (state !== undefined) query = query.where('state', '=', state);
  if (install !== undefined) query = query.where('membership.install', '=', install);
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (trainerId !== undefined) query = query.where('membership.trainerId', '=', trainerId);
  if (before !== undefined) query = query.where('id', '<', before);
  if (contractId !== undefined) query = query.where((eb) => eb('id', 'in', ofContract(eb, contractId)));
  if (project !== undefined) {
    query = query.where((eb) => eb.or([eb('groupId', '=', project), eb('id', 'in', ofProject(eb, project))]));
  }
  if (search !== undefined) query = query.where((eb) => matches(eb, search));
  if (isLeaving) query = query.where(leaving).orderBy(leavesAt).orderBy('id');
  else query = query.orderBy('id', 'desc');
  if (afterLeaving !== undefined) query = query.where(isAfterLeaving(afterLeaving));
  const rows = await query.limit(limit).execute();
  const reasons = await listReasons(
    kysely,
    rows.map(({ id }) => id),
  );
  const byMembership = Map.groupBy(reasons, ({ membershipId }) => membershipId);
  return rows.map((row) => ({ ...row, reasons: byMembership.get(row.id) ?? [] }));
}

function ofContract(eb: MembershipBuilder, contractId: string) {
  return eb.selectFrom('reason').select('membershipId').where('contractId', '=', contractId);
}

function ofProject(eb: MembershipBuilder, project: string) {
  return reasonsWithLinks(eb).where('link.externalProjectId', '=', project);
}

function reasonsWithLinks(eb: MembershipBuilder) {
  return eb
    .selectFrom('reason')
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select('reason.membershipId');
}

/** No part depends on the membership, so the database finds each once. */
function matches(eb: MembershipBuilder, { text, digest }: NonNullable<AccessFilter['search']>) {
  const pattern = `%${text.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`;
  const isLike = (column: string) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '!'`;
  const people = eb
    .selectFrom('person')
    .select('person.trainerId')
    .where((inner) => inner.or([isLike('person.displayName'), inner('workEmailDigest', '=', digest)]));
  const linked = reasonsWithLinks(eb).where((inner) =>
    inner.or([isLike('link.externalProjectId'), isLike('link.externalProjectName')]),
  );
  return eb.or([
    eb('membership.trainerId', '=', text),
    eb('groupId', '=', text),
    eb('membership.trainerId', 'in', people),
    eb('id', 'in', linked),
  ]);
}

async function listReasons(kysely: Transaction, membershipIds: readonly number[]): Promise<AccessReason[]> {
  if (membershipIds.length === 0) return [];
  return await kysely
    .selectFrom('reason')
    .leftJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .leftJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .select([
      'reason.membershipId',
      'reason.install',
      'reason.contractId',
      'reason.linkId',
      'contract.title',
      'contract.endDate',
      'link.externalProjectId',
      'link.externalProjectName',
    ])
    .where('reason.membershipId', 'in', membershipIds)
    .orderBy('reason.membershipId')
    .orderBy('reason.contractId')
    .orderBy('reason.linkId')
    .execute();
}
