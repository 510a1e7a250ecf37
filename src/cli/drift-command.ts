import { maskText } from '../lib/mask.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { describeFinding, driftSides, sayNext } from '../operator/describe-drift.ts';
import {
  type ListedFinding,
  type ListedGroupDrift,
  listFindings,
  listGroupDrifts,
} from '../reconcile/drift/finding-store.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';

export interface DriftOptions {
  tool: string | undefined;
  group: string | undefined;
  limit: number;
}

/** `gangway drift`: what differs between what the tools list and the memberships that are known, by name. */
export async function runDrift(
  { tool, group: groupId, limit }: DriftOptions,
  { storage }: StorageSession,
): Promise<Printed> {
  const groups = await listGroupDrifts(storage, { tool, groupId, limit });
  const kinds = Object.values(driftSides).flat();
  const found = (await listFindings(storage, { tool, groupId, kinds, limit })).map(toMasked);
  return printDrift(groups, found);
}

export function printDrift(groups: readonly ListedGroupDrift[], found: readonly ListedFinding[]): Printed {
  return {
    data: { groups, found: found.map((one) => ({ ...one, next: sayNext(one) })) },
    text: () =>
      [
        formatList(groups, groupColumns, 'No group was listed yet.'),
        formatList(found, columns, 'Nothing differs.'),
      ].join('\n\n'),
  };
}

/** The lines of a terminal are kept, so no whole address stands there. */
function toMasked({ account, ...found }: ListedFinding): ListedFinding {
  if (account === null) return { ...found, account };
  const { id, email, name } = account;
  const masked = { id: maskText(id), email: email && maskText(email), name: name && maskText(name) };
  return { ...found, account: masked };
}

const groupColumns: Columns<ListedGroupDrift> = [
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['listed for', ({ install }) => install],
  ['at', ({ listedAt }) => listedAt],
  ['members', ({ listed }) => listed, { align: 'right' }],
  [
    'differ',
    ({ counts, unkept }) => Object.values(counts).reduce((sum, count) => sum + count, unkept),
    { align: 'right' },
  ],
  ['not named', ({ unkept }) => (unkept === 0 ? '' : unkept), { align: 'right' }],
];

const columns: Columns<ListedFinding> = [
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['who', whoOf],
  ['what', ({ kind }) => describeFinding[kind]],
  ['since', ({ since }) => since],
  ['now', ({ member }) => member?.state],
  ['next', sayNext],
];

function whoOf({ member, account }: ListedFinding): string {
  if (member !== null) return `${member.displayName ?? member.trainerId} (trainer ${member.trainerId})`;
  if (account === null) return '(cannot be read)';
  return [account.name, account.email, `id ${account.id}`].filter((one) => one !== null && one !== '').join(', ');
}
