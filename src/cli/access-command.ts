import { systemClock, toInstant } from '../lib/clock.ts';
import { writeCsv } from '../lib/write-csv.ts';
import { type AccessPeriod, type AccessStretch, listAccessHistory } from '../memberships/access-history-store.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import type { Printed } from './define-command.ts';
import type { RemoteSession, StorageSession } from './session.ts';

/** `gangway access`: who could get in where, from when to when, and by which contracts. */

interface Wish {
  from: string | undefined;
  to: string | undefined;
  install: string | undefined;
  csv: boolean;
}

export async function runAccess({ csv, ...wish }: Wish, { storage }: StorageSession): Promise<Printed> {
  const found = await listAccessHistory(storage.database.kysely, toPeriod(wish), { limit: Number.POSITIVE_INFINITY });
  return printAccess(found, csv);
}

export async function askAccess({ csv, ...wish }: Wish, remote: RemoteSession): Promise<Printed> {
  const query = { ...toPeriod(wish) };
  return printAccess(await remote.list<AccessStretch>('GET /access/history', query, Number.POSITIVE_INFINITY), csv);
}

function toPeriod({
  from = toInstant(new Date(0)),
  to = toInstant(systemClock.now()),
  install,
}: Omit<Wish, 'csv'>): AccessPeriod {
  return { from, to, install };
}

function printAccess(accesses: readonly AccessStretch[], csv: boolean): Printed {
  return {
    data: { accesses },
    text: () => (csv ? toCsv(accesses) : formatList(accesses, columns, 'Nobody had access in this period.')),
  };
}

const columns: Columns<AccessStretch> = [
  ['membership', ({ membershipId }) => membershipId, { align: 'right' }],
  ['trainer', ({ trainerId }) => trainerId],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['from', ({ from }) => from ?? 'not known'],
  ['maybe from', ({ mayBeFrom }) => mayBeFrom],
  ['until', ({ until }) => until],
  ['contracts', ({ contracts }) => contracts.map(({ install, contractId }) => `${install}/${contractId}`).join(' ')],
  ['added by', ({ isAdded }) => (isAdded ? 'Gangway' : 'someone else')],
  ['removed because', ({ cause }) => cause],
  ['lock-out in s', ({ lockOutMs }) => (lockOutMs === null ? null : (lockOutMs / 1000).toFixed(1)), { align: 'right' }],
  ['not known', ({ doubts }) => doubts.join('; ')],
];

function toCsv(accesses: readonly AccessStretch[]): string {
  const rows = accesses.map((one) => columns.map(([, cell]) => cell(one) ?? null));
  return writeCsv([columns.map(([title]) => title), ...rows]).trimEnd();
}
