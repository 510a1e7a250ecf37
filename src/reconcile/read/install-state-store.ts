import { sql } from 'kysely';
import type { Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { claimRows, isFree } from '../../db/lock.ts';
import type { Row } from '../../db/schema.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { type ContractEvidence, isMissed } from '../../domain/evidence.ts';
import { leftSince, movedSince, statusOfContract, statusOfLink } from '../../domain/evidence-status.ts';
import type { RunTrigger } from '../../domain/run.ts';
import { mayBeOpen } from '../../evidence/contract-store.ts';
import { listOpenReads } from '../../evidence/read-request-store.ts';
import { createSameText, type SameText } from '../../lib/text.ts';
import type { KnownInstall, StoredContract } from './read-install.ts';

// The only SQL about reads of whole installs: which ones are due, and what is known of them.

export interface WhichInstall {
  only?: string;
  except?: readonly string[];
}

export interface InstallClaim {
  install: string;
  /** Identifies the claim: no other claim exists until then, and the next one ends later. */
  leasedUntil: string;
  readWantedAt: string;
  trigger: RunTrigger;
  attempts: number;
}

export interface InstallState {
  install: string;
  heldSince: string | null;
  readWantedAt: string | null;
  readBeganAt: string | null;
  attempts: number;
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
  await writeInstallStates(tx, installs, { readWantedAt: now, readWantedBy, attempts: 0, nextAttemptAt: now });
}

/** Writes the same for each of these installs. */
export async function writeInstallStates(
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

export async function hasReadDue(ctx: Storage, now: string): Promise<boolean> {
  const due = ctx.database.kysely.selectFrom('installState').select('install').where('nextAttemptAt', '<=', now);
  return (await due.limit(1).executeTakeFirst()) !== undefined;
}

/** @param which only this install, or all except these; by default any */
export async function claimInstallRead(
  ctx: Storage,
  now: string,
  leasedUntil: string,
  which: WhichInstall = {},
): Promise<InstallClaim | null> {
  return await inTransaction(ctx.database, async (tx) => {
    const due = selectClaimable(tx, now, which).orderBy('nextAttemptAt').limit(1);
    const row = await claimRows(ctx.database, due).executeTakeFirst();
    if (row === undefined) return null;
    const { install, attempts, readWantedAt, readWantedBy } = row;
    await tx.updateTable('installState').set({ leasedUntil }).where('install', '=', install).execute();
    return { install, leasedUntil, attempts, readWantedAt: readWantedAt ?? now, trigger: readWantedBy ?? 'event' };
  });
}

/** @returns the renewed claim; null if it ran out and another instance took the install */
export async function renewInstallRead(
  ctx: Storage,
  claim: InstallClaim,
  leasedUntil: string,
): Promise<InstallClaim | null> {
  const { numUpdatedRows } = await inTransaction(ctx.database, (tx) =>
    updateClaimed(tx, claim).set({ leasedUntil }).executeTakeFirstOrThrow(),
  );
  return numUpdatedRows === 1n ? { ...claim, leasedUntil } : null;
}

/**
 * Settles the requests for a read that are not younger than this one, and ends the holds.
 *
 * @param heldUntil where the read leaves so much in doubt that it ends no hold: when a held install is read again
 */
export async function settleInstallRead(
  ctx: Storage,
  claim: InstallClaim,
  beganAt: string,
  heldUntil?: string,
): Promise<void> {
  const { install, readWantedAt } = claim;
  await inTransaction(ctx.database, async (tx) => {
    const done = { readBeganAt: beganAt, attempts: 0, failure: null };
    await tx.updateTable('installState').set(done).where('install', '=', install).execute();
    await updateClaimed(tx, claim).set({ leasedUntil: null }).execute();
    // A read that was requested after this one began is still due.
    await tx
      .updateTable('installState')
      .set({ readWantedAt: null, nextAttemptAt: null })
      .where('install', '=', install)
      .where('readWantedAt', '<=', readWantedAt)
      .execute();
    if (heldUntil !== undefined) {
      await tx
        .updateTable('installState')
        .set({ readWantedAt: beganAt, nextAttemptAt: heldUntil })
        .where('install', '=', install)
        .where((eb) => eb.or([eb('heldSince', 'is not', null), eb('removalsHeldSince', 'is not', null)]))
        .execute();
      return;
    }
    for (const column of ['heldSince', 'removalsHeldSince'] as const) {
      await tx
        .updateTable('installState')
        .set({ [column]: null })
        .where('install', '=', install)
        .where(column, '<=', beganAt)
        .execute();
    }
  });
}

/** Does nothing if another instance took the install. */
export async function postponeInstallRead(
  ctx: Storage,
  claim: InstallClaim,
  { failure, code }: { failure: string; code: ErrorCode },
  nextAttemptAt: string,
): Promise<void> {
  const attempts = claim.attempts + 1;
  await inTransaction(ctx.database, (tx) =>
    updateClaimed(tx, claim).set({ leasedUntil: null, attempts, failure, failureCode: code, nextAttemptAt }).execute(),
  );
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
  return selectStates(ctx.database.kysely).where('install', '=', install).executeTakeFirst();
}

export function listInstallStates(ctx: Storage): Promise<InstallState[]> {
  return selectStates(ctx.database.kysely).orderBy('install').execute();
}

function selectClaimable(tx: Transaction, now: string, { only, except = [] }: WhichInstall) {
  let claimable = tx
    .selectFrom('installState')
    .select(['install', 'readWantedAt', 'readWantedBy', 'attempts'])
    .where('nextAttemptAt', '<=', now)
    .where(isFree('installState', now));
  if (only !== undefined) claimable = claimable.where('install', '=', only);
  if (except.length > 0) claimable = claimable.where('install', 'not in', except);
  return claimable;
}

function updateClaimed(tx: Transaction, { install, leasedUntil }: InstallClaim) {
  return tx.updateTable('installState').where('install', '=', install).where('leasedUntil', '=', leasedUntil);
}

function selectStates(db: Transaction) {
  return db
    .selectFrom('installState')
    .select(['install', 'heldSince', 'readWantedAt', 'readBeganAt', 'attempts', 'failure', 'failureCode']);
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

async function loadOpenContracts({ kysely }: Database, install: string): Promise<StoredContract[]> {
  const known: StoredContract[] = [];
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
    known.push(...(await toKnown(kysely, same, page.filter(isOpen))));
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
  // One absence proves nothing, so the contract is asked again soon.
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
