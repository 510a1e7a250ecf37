import type { Database } from '../../db/database.ts';
import { onSame } from '../../db/on-same.ts';
import { confirmedAt, isSuspect, movedSince, provisioningOf, statusOfLink } from '../../domain/evidence-status.ts';

/** The SQL of suspects: contracts that are in no list any more (docs/design.md, Reconciling). */
export interface SuspectStore {
  /** The suspects of one install, or of all installs, oldest first. */
  list(install?: string): Promise<Suspect[]>;
}

export interface Suspect {
  install: string;
  contractId: string;
  /** When the first read began that did not list it any more. */
  since: string;
}

type SuspectRow = Awaited<ReturnType<typeof loadCandidates>>[number];

export function createSuspectStore(database: Database): SuspectStore {
  return {
    async list(install) {
      const candidates = await loadCandidates(database, install);
      const suspects = candidates.filter((one) => isSuspect(one, one.readBeganAt ?? '') && isHere(one));
      const byContract = new Map(suspects.map((one) => [JSON.stringify([one.install, one.contractId]), one]));
      const byInstall = Map.groupBy(byContract.values(), (one) => one.install);
      const listed: Suspect[] = [];
      for (const [name, ofInstall] of byInstall) {
        listed.push(...(await addSince(database, name, ofInstall)));
      }
      return listed.sort((a, b) => (a.since < b.since ? -1 : 1));
    },
  };
}

/** Contracts that the last read did not list, one row for each of their links. */
function loadCandidates({ kysely }: Database, install: string | undefined) {
  let rows = kysely
    .selectFrom('contract')
    .innerJoin('installState', 'installState.install', 'contract.install')
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .selectAll('contract')
    .select(['readBeganAt', 'removedEventAt', 'seenAt', 'externalProjectId', 'provisioningMode'])
    .select(['link.absences as linkAbsences', 'namedAt', 'omissions'])
    .where('endedReadAt', 'is', null)
    .where('removedEventAt', 'is', null)
    .where((eb) => eb.or([eb('activeReadAt', 'is', null), eb('activeReadAt', '<', eb.ref('readBeganAt'))]));
  if (install !== undefined) rows = rows.where('contract.install', '=', install);
  return rows.execute();
}

/** Whether the contract is still on the link and the link gives access through Gangway. Only then it matters. */
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
