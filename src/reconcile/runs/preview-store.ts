import type { Storage } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';

// The SQL of the dry run: which trainers a read affects, and what is under way already.

/** Trainers whose memberships are still to be derived. */
export async function listPostponedTrainers(tx: Transaction): Promise<string[]> {
  const rows = await tx.selectFrom('derivation').select('trainerId').execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** The contracts of an install that these trainers are known to be on. */
export async function contractsOfTrainers(tx: Transaction, install: string, trainerIds: string[]): Promise<string[]> {
  const rows = await tx
    .selectFrom('participation')
    .select('contractId')
    .distinct()
    .where('install', '=', install)
    .where('trainerId', 'in', trainerIds)
    .execute();
  return rows.map(({ contractId }) => contractId);
}

/** Memberships of an install that are not converged. */
export function listUnderway(ctx: Storage, install: string): Promise<Row<'membership'>[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .selectAll()
    .where('install', '=', install)
    .where('state', 'in', ['pending', 'removing'])
    .execute();
}

/** Memberships in open plans. */
export function listHeldMemberships(ctx: Storage, install: string): Promise<Row<'membership'>[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .innerJoin('planItem', (join) =>
      join
        .onRef('planItem.membershipId', '=', 'membership.id')
        .onRef('planItem.generation', '=', 'membership.generation'),
    )
    .innerJoin('plan', 'plan.id', 'planItem.planId')
    .selectAll('membership')
    .where('plan.install', '=', install)
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .execute();
}

/** Memberships that a tool refused, or whose last call failed. */
export function listFailedMemberships(ctx: Storage, install: string): Promise<Row<'membership'>[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .selectAll()
    .where('install', '=', install)
    .where((eb) => eb.or([eb('state', '=', 'failed'), eb('failure', 'is not', null)]))
    .execute();
}

/** @param ids at most a few hundred */
export function findMembershipsById(ctx: Storage, ids: number[]): Promise<Row<'membership'>[]> {
  return ctx.database.kysely.selectFrom('membership').selectAll().where('id', 'in', ids).execute();
}
