import type { Database } from '../../db/database.ts';
import { onSame } from '../../db/on-same.ts';
import { confirmedAt, isSuspect, movedSince, provisioningOf, statusOfLink } from '../../domain/evidence-status.ts';

/** The SQL of suspects: contracts that are in no list any more (design section 4.2). */
export interface SuspectStore {
  /** Those of one install, or of all; the oldest first. */
  list(install?: string): Promise<Suspect[]>;
}

export interface Suspect {
  install: string;
  contractId: string;
  /** When the first reading began that did not find it any more. */
  since: string;
}

type Candidate = Awaited<ReturnType<typeof loadCandidates>>[number];

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

/** Contracts that the last reading did not list, once for each link that they have. */
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

/** Whether it is on the link, and that gives access by us: else nothing hangs on the contract. */
function isHere({ linkAbsences: absences, ...link }: Candidate): boolean {
  return (
    movedSince(link) === null &&
    statusOfLink({ ...link, absences }) === 'live' &&
    provisioningOf(link.provisioningMode) !== 'of_marketplace'
  );
}

async function addSince({ kysely }: Database, install: string, suspects: Candidate[]): Promise<Suspect[]> {
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
