import { sql } from 'kysely';
import type { Context, Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { type ContractEvidence, isMissed } from '../../domain/evidence.ts';
import { leftSince, movedSince, statusOfContract, statusOfLink } from '../../domain/evidence-status.ts';
import type { RunTrigger } from '../../domain/run.ts';
import { isByOperator, removalCauses, weakerCauses } from '../../domain/standing.ts';
import { mayBeOpen } from '../../evidence/contract-store.ts';
import { listOpenReads } from '../../evidence/read-request-store.ts';
import { jobOf } from '../../jobs/job.ts';
import { wantJobs } from '../../jobs/job-store.ts';
import { createSameText, type SameText } from '../../lib/text.ts';
import { askBrakeAgain } from '../../memberships/clearance-store.ts';
import { lockEvidence, postponeDerivation } from '../../memberships/derivation-store.ts';
import { expectForgottenCalls, lookInTools, reopenUntouched } from '../../memberships/look-store.ts';
import type { KnownInstall, StoredContract } from './read-install.ts';

// The SQL about reads of whole installs: what is known of an install, and what is held until it is read.

export interface InstallState {
  install: string;
  heldSince: string | null;
  readBeganAt: string | null;
  /** How many reads in a row have failed, since when, and why. */
  attempts: number;
  failingSince: string | null;
  failure: string | null;
  failureCode: ErrorCode | null;
}

/** Makes a read of these installs due. */
export async function wantRead(
  tx: Transaction,
  installs: readonly string[],
  now: string,
  readWantedBy: RunTrigger = 'event',
): Promise<void> {
  await writeInstallStates(tx, installs, { readWantedBy });
  await wantJobs(tx, 'reconcile', installs.map(jobOf), now);
}

/** Writes the same for each of these installs. */
async function writeInstallStates(
  tx: Transaction,
  installs: readonly string[],
  values: Partial<Row<'installState'>>,
): Promise<void> {
  if (installs.length === 0) return;
  await tx
    .insertInto('installState')
    .values(installs.map((install) => ({ install, ...values })))
    .onConflict((conflict) => conflict.column('install').doUpdateSet(values))
    .execute();
}

/** Why the read of an install is due. */
export async function findTrigger({ database }: Storage, install: string): Promise<RunTrigger> {
  const state = database.kysely.selectFrom('installState').select('readWantedBy').where('install', '=', install);
  return (await state.executeTakeFirst())?.readWantedBy ?? 'event';
}

/** A smaller step back of the clock is ignored, because clocks are corrected by a little all the time. */
export const ignoredStepMs = 60_000;

export interface Reading {
  install: string;
  beganAt: string;
}

/**
 * Locks the evidence to record what a reading found. A reading from the future would outweigh every reading until then,
 * and the lock keeps the clock from being mended in between.
 *
 * @throws AppError `conflict` if the clock was set back since the reading began
 */
export async function lockForReading(ctx: Context, tx: Transaction, { install, beganAt }: Reading): Promise<void> {
  await lockEvidence(ctx, tx);
  if (Date.parse(beganAt) - ctx.clock.now().getTime() < ignoredStepMs) return;
  throw new AppError('conflict', `Could not use what was read of ${install}: the clock was set back meanwhile`);
}

/**
 * Records a complete read.
 *
 * @param endsHolds false if it leaves too much in doubt
 * @throws AppError as `lockForReading` and `confirm` do
 */
export async function noteInstallRead(
  ctx: Context,
  { install, beganAt: readBeganAt }: Reading,
  endsHolds: boolean,
  confirm: (tx: Transaction) => Promise<void> = async () => undefined,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await lockForReading(ctx, tx, { install, beganAt: readBeganAt });
    await confirm(tx);
    const state = tx.updateTable('installState').where('install', '=', install);
    await state.set({ readBeganAt }).execute();
    if (!endsHolds) return;
    for (const column of ['heldSince', 'removalsHeldSince'] as const) {
      await state
        .set({ [column]: null })
        .where(column, '<=', readBeganAt)
        .execute();
    }
  });
}

export async function isHeld({ database }: Storage, install: string): Promise<boolean> {
  const held = database.kysely
    .selectFrom('installState')
    .select('install')
    .where('install', '=', install)
    .where((eb) => eb.or([eb('heldSince', 'is not', null), eb('removalsHeldSince', 'is not', null)]));
  return (await held.executeTakeFirst()) !== undefined;
}

export async function knownOfInstall(ctx: Storage, install: string): Promise<KnownInstall> {
  const links = await ctx.database.kysely
    .selectFrom('link')
    .selectAll()
    .where('install', '=', install)
    .where('removedEventAt', 'is', null)
    .execute();
  const isLive = (link: (typeof links)[number]) => statusOfLink(link) === 'live';
  return {
    links: new Map(links.filter(isLive).map(({ linkId, firstSeenAt }) => [linkId, firstSeenAt])),
    contracts: await loadOpenContracts(ctx.database, install),
    announcedIds: await listOpenReads(ctx, install),
    orphanedContractIds: await findOrphanedContracts(ctx.database, install),
  };
}

export function findInstallState(ctx: Storage, install: string): Promise<InstallState | undefined> {
  return selectStates(ctx.database.kysely).where('installState.install', '=', install).executeTakeFirst();
}

export function listInstallStates(ctx: Storage): Promise<InstallState[]> {
  return selectStates(ctx.database.kysely).orderBy('installState.install').execute();
}

function selectStates(db: Transaction) {
  return db
    .selectFrom('installState')
    .leftJoin('job', (join) => join.onRef('job.key', '=', 'installState.install').on('job.kind', '=', 'reconcile'))
    .select(['installState.install', 'heldSince', 'readBeganAt', 'failingSince', 'failure', 'failureCode'])
    .select((eb) => eb.fn.coalesce('attempts', eb.lit(0)).as('attempts'));
}

/** Contracts that no read tells about any more, unless another install has them too. */
async function findOrphanedContracts({ kysely }: Database, install: string): Promise<Set<string>> {
  const rows = await kysely
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .select('contractId')
    .distinct()
    // The condition must have this form, or the partial index is not used.
    .where(sql<boolean>`membership.state = 'orphaned'`)
    .where('reason.install', '<>', install)
    .execute();
  return new Set(rows.map(({ contractId }) => contractId));
}

/** How many contracts are loaded together, so that only what is kept of them stays in memory. */
const pageSize = 1000;

async function loadOpenContracts({ kysely }: Database, install: string): Promise<Map<string, StoredContract>> {
  const known = new Map<string, StoredContract>();
  const same = createSameText();
  for (let after = ''; ; ) {
    const page = await kysely
      .selectFrom('contract')
      .selectAll()
      .where('install', '=', install)
      .where(mayBeOpen())
      .where('contractId', '>', after)
      .orderBy('contractId')
      .limit(pageSize)
      .execute();
    for (const one of await toKnown(kysely, same, page.filter(isOpen))) known.set(one.contractId, one);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return known;
    after = last.contractId;
  }
}

function isOpen(contract: ContractEvidence): boolean {
  const status = statusOfContract(contract);
  return status === 'active' || status === 'disputed';
}

async function toKnown(kysely: Transaction, same: SameText, contracts: ContractEvidence[]): Promise<StoredContract[]> {
  const [first] = contracts;
  if (first === undefined) return [];
  const { install } = first;
  const ids = contracts.map(({ contractId }) => contractId);
  const pairs = await kysely
    .selectFrom('contractLink')
    .select(['contractId', 'linkId', 'namedAt', 'omissions'])
    .where('install', '=', install)
    .where('contractId', 'in', ids)
    .execute();
  const participations = await kysely
    .selectFrom('participation')
    .leftJoin('person', (join) =>
      join
        .onRef('person.install', '=', 'participation.install')
        .onRef('person.trainerId', '=', 'participation.trainerId'),
    )
    .select(['contractId', 'participation.trainerId', 'seenAt', 'absences', 'workEmailDigest'])
    .where('participation.install', '=', install)
    .where('contractId', 'in', ids)
    .execute();
  // A trainer who has left is not counted as absent again, because that would only delay the end.
  const linked = pairs.filter((pair) => movedSince(pair) === null);
  const linksBy = Map.groupBy(linked, ({ contractId }) => contractId);
  const present = participations.filter((participation) => leftSince(participation) === null);
  const trainersBy = Map.groupBy(present, ({ contractId }) => contractId);
  // One absence proves nothing, so the participants are read again soon.
  const doubtful = new Set(
    present.filter(({ absences, seenAt }) => isMissed(absences, seenAt)).map(({ contractId }) => contractId),
  );
  return contracts.map(({ contractId, participantsReadAt: readAt }) => ({
    contractId,
    participantsReadAt: doubtful.has(contractId) || readAt === null ? null : same.text(readAt),
    linkIds: same.list((linksBy.get(contractId) ?? []).map(({ linkId }) => linkId)),
    trainerIds: (trainersBy.get(contractId) ?? []).map(({ trainerId }) => trainerId),
    lacksAddress: trainersBy.get(contractId)?.some(({ workEmailDigest }) => workEmailDigest === null) ?? false,
  }));
}

/** All causes except those by an operator. */
const onOurEvidence = removalCauses.filter((cause) => !isByOperator(cause));

/** Nothing older than `now` is converged before the installs are read. */
export async function holdInstalls(ctx: Storage, installs: string[], now: string): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await wantRead(tx, installs, now, 'silence');
    await writeInstallStates(tx, installs, { heldSince: now, removalsHeldSince: now });
    await askBrakeAgain(tx, installs, now, onOurEvidence);
  });
}

/** The same, but only for removals on weaker evidence. */
export async function holdRemovalsOf(ctx: Storage, installs: string[], now: string): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await wantRead(tx, installs, now, 'silence');
    await writeInstallStates(tx, installs, { removalsHeldSince: now });
    await askBrakeAgain(tx, installs, now, weakerCauses);
  });
}

/**
 * Makes looks due for every trainer who should be in one of these tools, and, before their removal, for those who wait
 * to be added to any tool.
 *
 * @param aliveAt when an instance last ran, as the database says; null if none has run
 */
export async function lookAgainInTools(
  ctx: Storage,
  tools: readonly string[],
  aliveAt: string | null,
  now: string,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    if (tools.length > 0) await lookInTools(tx, tools, now);
    await expectForgottenCalls(tx, now);
    if (aliveAt === null) return;
    await postponeDerivation(tx, await reopenUntouched(tx, aliveAt, now));
  });
}

/** Ends holds that are as old as this or older, because an install may never be readable again. */
export async function releaseHeldRemovals(ctx: Storage, since: string): Promise<void> {
  for (const column of ['heldSince', 'removalsHeldSince'] as const) {
    const held = ctx.database.kysely.selectFrom('installState').where(column, '<=', since);
    if ((await held.select('install').limit(1).executeTakeFirst()) === undefined) continue;
    await inTransaction(ctx.database, (tx) =>
      tx
        .updateTable('installState')
        .set({ [column]: null })
        .where(column, '<=', since)
        .execute(),
    );
  }
}
