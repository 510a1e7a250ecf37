import { z } from 'zod';
import { membershipStates } from '../domain/membership.ts';
import { describeFinding, driftSides, sayNext } from '../operator/describe-drift.ts';
import { listFindings, listGroupDrifts } from '../reconcile/drift/finding-store.ts';
import { group, read } from './operation.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import { count, instant, maybeInstant, maybeText, ofTool, paging, refuseUnknownTool, text } from './values.ts';

/** What differs between the members that the tools list and the memberships that Gangway knows. */

const kinds = Object.values(driftSides).flat();
const kind = z.enum(kinds);

const GroupDrift = z
  .object({
    tool: z.string(),
    groupId: z.string(),
    install: z.string().describe('By whose reading it was listed.'),
    listedAt: instant,
    listed: count,
    unkept: count.describe('How many more differ, and are not named.'),
    counts: z.partialRecord(kind, count),
  })
  .meta({ id: 'GroupDrift' });

const Finding = z
  .object({
    id: z.string(),
    kind,
    tool: z.string(),
    groupId: z.string(),
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
      .describe('What the tool shows of an account without a membership.'),
    next: z.string().describe('What happens by itself, or what is left to you.'),
  })
  .meta({ id: 'DriftFinding' });

const groupColumns: Columns<z.output<typeof GroupDrift>> = [
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['listed for', ({ install }) => install],
  ['age', ({ listedAt }) => listedAt, { as: 'age' }],
  ['members', ({ listed }) => listed, { align: 'right' }],
  ['differ', ({ counts, unkept }) => Object.values(counts).reduce((sum, n) => sum + n, unkept), { align: 'right' }],
  ['not named', ({ unkept }) => unkept || null, { align: 'right' }],
];

const columns: Columns<z.output<typeof Finding>> = [
  ['who', whoOf],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['what', ({ kind }) => describeFinding[kind]],
  ['age', ({ since }) => since, { as: 'age' }],
  ['now', ({ member }) => member?.state],
  ['next', ({ next }) => next],
];

export const drift = group('drift', {
  list: read('GET /drift', 'Name who is in a tool without a reason, and who should be in and is not', {
    in: z.strictObject({
      tool: ofTool,
      group: text.optional().describe('Only those of one group.'),
      limit: paging.limit,
    }),
    out: z.object({ groups: z.array(GroupDrift), found: z.array(Finding) }),
    async run({ tool, group: groupId, limit = 100 }, ctx) {
      const groups = await listGroupDrifts(ctx, { tool, groupId, limit });
      const found = await listFindings(ctx, { tool, groupId, kinds, limit });
      refuseUnknownTool(ctx, tool, groups);
      return { groups, found: found.map((one) => ({ ...one, next: sayNext(one) })) };
    },
    show: ({ groups, found }) =>
      `${formatList(groups, groupColumns, 'No group was listed yet.')}\n\n${formatList(found, columns, 'Nothing differs.')}`,
  }),
});

function whoOf({ member, account }: z.output<typeof Finding>): string {
  if (member !== null) return `${member.displayName ?? member.trainerId} (trainer ${member.trainerId})`;
  if (account === null) return '(cannot be read)';
  return [account.name, account.email, `id ${account.id}`].filter(Boolean).join(', ');
}
