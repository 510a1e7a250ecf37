import { z } from 'zod';
import { renewInvitationOf, takeInvitation } from '../converge/handover-store.ts';
import { membershipStates } from '../domain/membership.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { leavingKeyOf, listMemberships } from '../memberships/membership-list-store.ts';
import { convergeNow } from '../operator/converge-now.ts';
import { listWaiting } from '../operator/list-waiting.ts';
import { loadMembership } from '../operator/load-membership.ts';
import { Access, membership, problemOf } from './access.ts';
import { pageByKey, rowNumberIn } from './cursor.ts';
import { Explanation, sayExplanation, sayTimeline, Timeline } from './explain.ts';
import { adopt, release } from './member-decisions.ts';
import { act, group, read } from './operation.ts';
import { type Columns, table } from './show.ts';
import { formatList } from './text-table.ts';
import {
  maybeInstant,
  maybeText,
  ofInstall,
  ofTool,
  page,
  paging,
  refuseUnknown,
  refuseUnknownTool,
  rowNumber,
} from './values.ts';

/** Which trainer belongs to which group of a tool, and which of them Gangway may remove. */

const Membership = z
  .object({ ...membership, memberId: maybeText, attempts: z.int(), nextAttemptAt: maybeInstant })
  .meta({ id: 'Membership' });

const Waiting = Membership.extend({
  waitsFor: z.enum(['work_email', 'mail', 'operator', 'new_invitation', 'renewal']),
  invitation: z
    .object({ kind: z.enum(['link', 'password']), expiresAt: maybeInstant, failure: maybeText })
    .nullable()
    .describe('Without its content: `membersInvitation` shows that once.'),
}).meta({ id: 'WaitingMember' });

type Listed = Pick<z.output<typeof Membership>, keyof typeof membership | 'nextAttemptAt'>;

const personColumns: Columns<Listed> = [
  ['name', ({ displayName }) => displayName],
  ['trainer', ({ trainerId }) => trainerId],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['state', ({ state }) => state],
];

const sinceColumns: Columns<Listed> = [
  ['since', ({ updatedAt }) => updatedAt, { as: 'age' }],
  ['next', sayNext],
  ['reason', ({ cause }) => cause && describeCause(cause)],
];

const idColumn: Columns<Listed> = [
  ['membership', ({ id }) => id, { align: 'right', to: ({ id }) => `/memberships/${id}` }],
];

const columns: Columns<Listed> = [...personColumns, ...sinceColumns, ['problem', problemOf], ...idColumn];

const waitingColumns: Columns<z.output<typeof Waiting>> = [
  ...personColumns,
  ['waits for', sayWaitedFor],
  ...sinceColumns,
  ['problem', (one) => one.invitation?.failure ?? problemOf(one)],
  ...idColumn,
];

const number = rowNumber.describe('Its number in the list.');
const one = z.strictObject({ membership: number });
const changed = z.object({ membershipId: z.int() });

export const members = group('members', {
  list: read('GET /memberships', 'List who belongs to which group, by tool and group', {
    in: z.strictObject({
      tool: ofTool,
      install: ofInstall,
      state: z.enum(membershipStates).optional().describe('Only those in one state.'),
      undecided: z
        .boolean()
        .default(false)
        .describe('Only those whom Gangway did not add, and about whom nobody has decided yet.'),
      leaving: z.boolean().default(false).describe('Only those whose access is about to end, the soonest first.'),
      ...paging,
    }),
    out: page(Membership),
    async run({ limit, cursor, undecided, leaving, ...filter }, ctx) {
      const { kysely } = ctx.database;
      const by = { ...filter, isUndecided: undecided };
      const found = leaving
        ? await pageByKey(
            'members leaving',
            { limit, cursor, parts: 2 },
            (key, most) => {
              const afterLeaving = key && { leavesAt: key[0] ?? '', id: rowNumberIn(key[1]) };
              return listMemberships(kysely, { ...by, isLeaving: true, afterLeaving, limit: most });
            },
            (row) => [leavingKeyOf(row).leavesAt, String(row.id)],
          )
        : await pageByKey(
            'members',
            { limit, cursor, parts: 4 },
            (key, most) => listMemberships(kysely, { ...by, after: toAfter(key), limit: most }),
            keyOf,
          );
      refuseUnknown(ctx, filter.install, found.items);
      refuseUnknownTool(ctx, filter.tool, found.items);
      return found;
    },
    show: table(columns, 'No memberships match.'),
  }),
  waiting: read('GET /waiting', 'List who waits for a work address, or for you to send their login', {
    in: z.strictObject({ tool: ofTool, ...paging }),
    out: page(Waiting),
    async run({ tool, limit, cursor }, ctx) {
      const { marketplace, mail } = ctx.config;
      const reach = {
        managedDomains: marketplace.managedDomains,
        hasMail: mail !== undefined,
        now: toInstant(ctx.clock.now()),
      };
      const found = await pageByKey(
        'members waiting',
        { limit, cursor, parts: 4 },
        (key, most) => listWaiting(ctx, { tool, after: toAfter(key), limit: most, ...reach }),
        keyOf,
      );
      refuseUnknownTool(ctx, tool, found.items);
      return found;
    },
    show: table(waitingColumns, 'Nobody is waiting.'),
  }),
  show: read('GET /memberships/{membership}', 'Show one membership: why it is as it is, and what happened', {
    asks: 'services',
    in: one,
    out: Access.extend({
      nextAttemptAt: maybeInstant,
      canConverge: z.boolean().describe('Whether there is a call to make now.'),
      explanations: z.array(Explanation),
      timeline: Timeline,
    }).meta({ id: 'MembershipInFull' }),
    run: ({ membership: id }, ctx) => loadMembership(ctx, id),
    show: (found) =>
      [formatList([found], columns, ''), ...found.explanations.map(sayExplanation), sayTimeline(found.timeline)].join(
        '\n\n',
      ),
  }),
  invitation: act(
    'POST /memberships/{membership}/invitation',
    'Show the invitation of a trainer once, so that you can send it',
    {
      isSecret: true,
      in: one,
      out: changed.extend({
        invitation: z.object({
          kind: z.enum(['link', 'password']),
          url: maybeText,
          username: z.string().optional(),
          password: z.string().optional(),
          expiresAt: maybeInstant,
        }),
      }),
      async run({ membership: id }, ctx, { by }) {
        const { content, expiresAt } = await takeInvitation(ctx, id, by);
        return { membershipId: id, invitation: { ...content, expiresAt } };
      },
      show({ invitation: { kind, url, username, password, expiresAt } }) {
        const rows = [
          [kind === 'link' ? 'link' : 'url', url],
          ['username', username],
          ['password', password],
          ['expires', expiresAt],
        ] as const;
        const known = rows.flatMap(([title, value]) => (value == null ? [] : [`${title.padEnd(9)} ${value}`]));
        return [...known, "Send it now. It won't be shown again."].join('\n');
      },
    },
  ),
  renew: act(
    'POST /memberships/{membership}/invitation/renew',
    'Have the tool renew an invitation that was not accepted yet',
    {
      asks: 'services',
      in: one,
      out: changed,
      async run({ membership: id }, ctx, { by }) {
        const canRenew = (tool: string) => ctx.adapters.get(tool)?.renewInvitation !== undefined;
        await renewInvitationOf(ctx, id, canRenew, by);
        return { membershipId: id };
      },
      show: ({ membershipId }) => `A running "gangway start" makes a new invitation for membership ${membershipId}.`,
    },
  ),
  adopt,
  release,
  converge: act('POST /memberships/{membership}/converge', 'Sync a membership with its tool now', {
    in: one,
    out: changed,
    async run({ membership: id }, ctx, { by }) {
      await convergeNow(ctx, by, id);
      return { membershipId: id };
    },
    show: ({ membershipId }) => `A running "gangway start" syncs membership ${membershipId} now.`,
  }),
});

type Key = Pick<Listed, 'tool' | 'groupId' | 'trainerId' | 'id'>;

function keyOf({ tool, groupId, trainerId, id }: Key): string[] {
  return [tool, groupId, trainerId, String(id)];
}

function toAfter(key: readonly string[] | undefined): Key | undefined {
  const [tool = '', groupId = '', trainerId = '', id] = key ?? [];
  return key && { tool, groupId, trainerId, id: rowNumberIn(id) };
}

function sayNext({ state, nextAttemptAt, removeAfter }: Listed): string | null {
  if (state === 'held') return 'leaves when the plan is approved';
  if (state === 'removing' && nextAttemptAt === null) return `leaves ${removeAfter ?? 'now'}`;
  return nextAttemptAt === null ? null : `tried at ${nextAttemptAt}`;
}

/** What a membership waits for, or the command that the operator has to run. */
function sayWaitedFor({ id, waitsFor }: z.output<typeof Waiting>): string {
  switch (waitsFor) {
    case 'operator':
      return `gangway members invitation ${id}`;
    case 'renewal':
      return `gangway members renew ${id}`;
    case 'mail':
      return 'the mail';
    case 'new_invitation':
      return 'another invitation';
    case 'work_email':
      return 'a work email';
  }
}
