import { z } from 'zod';
import { membershipStates } from '../domain/membership.ts';
import {
  type FindingKind,
  type ListedFinding,
  listFindings,
  listGroupDrifts,
} from '../reconcile/drift/finding-store.ts';
import { group, read } from './operation.ts';
import { page, pageBy, paging } from './paging.ts';
import { type Columns, membershipPath, table, trainerPath } from './show.ts';
import { count, instant, maybeInstant, maybeText, named, ofTool, text } from './values.ts';

/** Differences between the members that the tools list and the memberships that Gangway knows. */

/** Who should be in and is not, who is in without a reason, and who is in as another account. */
const driftSides = {
  missing: ['missing'],
  extra: ['found_again', 'leak', 'stranger'],
  changed: ['id_changed', 'address_changed'],
} as const satisfies Record<string, readonly FindingKind[]>;

const describeFinding: Record<FindingKind, string> = {
  missing: 'should be in the tool, but is not',
  id_changed: 'in the tool with another id',
  found_again: 'in the tool again after removal',
  address_changed: 'the account has another email',
  stranger: 'not a known trainer',
  leak: 'a managed email without an active contract',
};

const kinds = Object.values(driftSides).flat();
const kind = z.enum(kinds);

const groupKey = { tool: z.string(), groupId: z.string() };

const GroupDrift = named('GroupDrift', {
  ...groupKey,
  install: z.string().describe('By whose reading it was listed.'),
  listedAt: instant,
  listed: count,
  unkept: count.describe('How many more differ, and are not named.'),
  counts: z.partialRecord(kind, count),
});

const Finding = named('DriftFinding', {
  id: z.string(),
  kind,
  ...groupKey,
  install: z.string(),
  since: instant,
  listedAt: instant,
  membershipId: z.int().nullable(),
  member: z
    .object({
      trainerId: z.string(),
      displayName: maybeText,
      state: z.enum(membershipStates),
      wanted: z.boolean(),
      removeAfter: maybeInstant,
    })
    .nullable(),
  account: z
    .object({ id: z.string(), email: maybeText, name: maybeText })
    .nullable()
    .describe('How the tool shows an account without a membership.'),
  next: z.string().describe('What Gangway does next, or what you have to do.'),
});

const groupColumns: Columns<z.output<typeof GroupDrift>> = [
  [
    'group',
    ({ groupId }) => groupId,
    { to: ({ tool, groupId: group }) => `/drift?${new URLSearchParams({ tool, group })}` },
  ],
  ['tool', ({ tool }) => tool, { isBeneath: true }],
  ['listed for', ({ install }) => install],
  ['listed', ({ listedAt }) => listedAt, { as: 'age' }],
  ['members', ({ listed }) => listed, { align: 'right' }],
  ['differ', ({ counts, unkept }) => Object.values(counts).reduce((sum, n) => sum + n, unkept), { align: 'right' }],
  ['not named', ({ unkept }) => unkept || null, { align: 'right' }],
];

const columns: Columns<z.output<typeof Finding>> = [
  ['who', whoOf, { to: ({ member }) => member && trainerPath(member.trainerId) }],
  ['group', ({ groupId }) => groupId],
  ['tool', ({ tool }) => tool, { isBeneath: true }],
  ['what', ({ kind }) => describeFinding[kind]],
  ['since', ({ since }) => since, { as: 'age' }],
  ['now', ({ member }) => member?.state, { as: 'state', to: pathOf }],
  ['next', ({ next }) => next],
];

const ofGroup = { tool: ofTool, group: text.optional().describe('Only those of one group.') };
const sides = Object.keys(driftSides) as (keyof typeof driftSides)[];

export const operations = group('drift', {
  list: read('GET /drift', 'List who is in a tool without a reason, and who is missing', {
    isPersonal: true,
    in: z.strictObject({
      ...ofGroup,
      side: z
        .enum(sides)
        .optional()
        .describe('Only who is missing, who is in without a reason, or who is in as another account.'),
      ...paging,
    }),
    out: page(Finding),
    run({ tool, group: groupId, side, ...wish }, ctx) {
      const filter = { tool, groupId, kinds: side === undefined ? kinds : driftSides[side] };
      return pageBy('drift', { ...groupKey, kind: z.string(), id: z.string() }, wish, async (after, limit) =>
        (await listFindings(ctx, { ...filter, after, limit })).map((one) => ({ ...one, next: sayNext(one) })),
      );
    },
    show: table(columns, 'Nothing differs, as far as the groups were listed.'),
  }),
  groups: read('GET /drift/groups', 'List the groups whose members were listed, and how many of them differ', {
    in: z.strictObject({ ...ofGroup, ...paging }),
    out: page(GroupDrift),
    run: ({ tool, group: groupId, ...wish }, ctx) =>
      pageBy('drift groups', groupKey, wish, (after, limit) => listGroupDrifts(ctx, { tool, groupId, after, limit })),
    show: table(
      groupColumns,
      'No group was listed yet. One appears after its customer was read, if its tool can list members.',
    ),
  }),
});

function pathOf({ membershipId: id }: z.output<typeof Finding>): string | null {
  return id === null ? null : membershipPath(id);
}

function whoOf({ member, account }: z.output<typeof Finding>): string {
  if (member !== null) return `${member.displayName ?? member.trainerId} (trainer ${member.trainerId})`;
  if (account === null) return '(cannot be read)';
  return [account.name, account.email, `id ${account.id}`].filter(Boolean).join(', ');
}

/** What happens next by itself, or what is left to an operator. */
function sayNext({ kind, member }: Pick<ListedFinding, 'kind' | 'member'>): string {
  if (kind === 'missing') {
    return member?.wanted === false
      ? 'nothing: they should now be out'
      : 'Gangway checks again, and adds them back if they are not found';
  }
  if (kind === 'found_again') {
    const after = member?.removeAfter == null ? '' : `, not before ${member.removeAfter}`;
    return `Gangway removes them again${after}, unless a contract starts`;
  }
  if (kind === 'id_changed') return 'Gangway checks them, and learns the new id';
  if (kind === 'address_changed') return 'an alert says what to do';
  return kind === 'leak' ? 'nothing: find out who let them in' : 'nothing: Gangway leaves strangers alone';
}
