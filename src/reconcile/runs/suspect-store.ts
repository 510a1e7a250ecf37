import type { Storage } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { onSame } from '../../db/query.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { confirmedAt, isSuspect, movedSince, provisioningOf, statusOfLink } from '../../domain/evidence-status.ts';
import { isUnconfirmed, mayBeOpen } from '../../evidence/contract-store.ts';

// The SQL of suspects: contracts that are in no list any more (docs/rules.md, Evidence).

export interface Suspect extends ContractKey {
  /** When the first read began that did not list it any more. */
  since: string;
}

type SuspectRow = Awaited<ReturnType<typeof loadPage>>[number];

/** The rows of one statement. After an empty list all contracts may be suspects. */
const usualPageRows = 1000;

/**
 * The suspects of these installs, oldest first.
 *
 * @param limit about so many of any age, if there are more
 */
export async function listSuspects(
  ctx: Storage,
  installs: readonly string[],
  limit: number = Number.POSITIVE_INFINITY,
  pageRows: number = usualPageRows,
): Promise<Suspect[]> {
  const found = new Map<string, SuspectRow>();
  for (let after: SuspectRow | undefined; installs.length > 0 && found.size < limit; ) {
    const rows = await loadPage(ctx.database, installs, after, pageRows);
    for (const row of rows.filter(isOne)) found.set(keyOf(row), row);
    after = rows.at(-1);
    if (rows.length < pageRows) break;
  }
  return await withSince(ctx.database, [...found.values()]);
}

/** The suspects among these contracts. */
export async function suspectsAmong(ctx: Storage, contracts: readonly ContractKey[]): Promise<Suspect[]> {
  if (contracts.length === 0) return [];
  const wanted = new Set(contracts.map(keyOf));
  const installs = [...new Set(contracts.map(({ install }) => install))];
  const contractIds = contracts.map(({ contractId }) => contractId);
  const rows = await loadCandidates(ctx.database, installs).where('contract.contractId', 'in', contractIds).execute();
  const found = rows.filter((row) => wanted.has(keyOf(row)) && isOne(row));
  return await withSince(ctx.database, [...new Map(found.map((row) => [keyOf(row), row])).values()]);
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

function isOne(row: SuspectRow): boolean {
  return isSuspect(row, row.readBeganAt ?? '') && isHere(row);
}

async function withSince(database: Database, suspects: readonly SuspectRow[]): Promise<Suspect[]> {
  const listed: Suspect[] = [];
  for (const [install, some] of Map.groupBy(suspects, (one) => one.install)) {
    for (const one of await addSince(database, install, some)) listed.push(one);
  }
  return listed.sort((a, b) => (a.since < b.since ? -1 : 1));
}

function loadPage(
  database: Database,
  installs: readonly string[],
  after: (ContractKey & { linkId: string }) | undefined,
  pageRows: number,
) {
  let rows = loadCandidates(database, installs);
  if (after !== undefined) {
    const { install, contractId, linkId } = after;
    const key = ['contract.install', 'contract.contractId', 'contractLink.linkId'] as const;
    rows = rows.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(install, contractId, linkId)));
  }
  return rows
    .orderBy('contract.install')
    .orderBy('contract.contractId')
    .orderBy('contractLink.linkId')
    .limit(pageRows)
    .execute();
}

/** Contracts that the last read did not list, one row for each of their links. */
function loadCandidates({ kysely }: Database, installs: readonly string[]) {
  return kysely
    .selectFrom('contract')
    .innerJoin('installState', 'installState.install', 'contract.install')
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .selectAll('contract')
    .select(['contractLink.linkId', 'readBeganAt', 'removedEventAt', 'seenAt', 'externalProjectId', 'provisioningMode'])
    .select(['link.absences as linkAbsences', 'namedAt', 'omissions'])
    .where('contract.install', 'in', installs)
    .where(mayBeOpen())
    .where('removedEventAt', 'is', null)
    .where(isUnconfirmed);
}

/** Whether the contract is still on the link and the link gives access through Gangway. Only then does it matter. */
function isHere({ linkAbsences: absences, ...link }: SuspectRow): boolean {
  return (
    movedSince(link) === null &&
    statusOfLink({ ...link, absences }) === 'live' &&
    provisioningOf(link.provisioningMode) !== 'of_marketplace'
  );
}

async function addSince({ kysely }: Database, install: string, suspects: SuspectRow[]): Promise<Suspect[]> {
  const confirmed = suspects.map((one) => confirmedAt(one) ?? '');
  const oldest = confirmed.reduce((a, b) => (b < a ? b : a));
  const readings = await kysely
    .selectFrom('run')
    .select('beganAt')
    .where('install', '=', install)
    .where('beganAt', '>', oldest)
    .where('readAt', 'is not', null)
    .orderBy('beganAt')
    .execute();
  return suspects.map(({ contractId, readBeganAt }, index) => {
    const first = readings.find(({ beganAt }) => beganAt > (confirmed[index] ?? ''));
    return { install, contractId, since: first?.beganAt ?? readBeganAt ?? '' };
  });
}
