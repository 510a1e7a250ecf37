import { z } from 'zod';
import { renewInvitationOf, takeInvitation } from '../converge/handover-store.ts';
import { membershipStates } from '../domain/membership.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { listMemberships } from '../memberships/membership-list-store.ts';
import { convergeNow } from '../operator/converge-now.ts';
import { listWaiting } from '../operator/list-waiting.ts';
import { loadMembership } from '../operator/load-membership.ts';
import { Access, leaving, membership, pageLeaving, problemOf, trainerColumns } from './access.ts';
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

const MembershipInFull = Access.extend({
  nextAttemptAt: maybeInstant,
  canConverge: z.boolean().describe('Whether there is a call to make now.'),
  explanations: z.array(Explanation),
  timeline: Timeline,
}).meta({ id: 'MembershipInFull' });

export type MembershipInFull = z.output<typeof MembershipInFull>;

type Listed = Pick<z.output<typeof Membership>, keyof typeof membership | 'nextAttemptAt'>;

const personColumns: Columns<Listed> = [
  ...trainerColumns,
  ['group', ({ groupId }) => groupId],
  ['tool', ({ tool }) => tool, { isBeneath: true }],
  ['state', ({ state }) => state, { as: 'state', to: ({ id }) => `/memberships/${id}` }],
];

const sinceColumns: Columns<Listed> = [
  ['since', ({ updatedAt }) => updatedAt, { as: 'age' }],
  ['next', sayNext],
  ['reason', ({ cause }) => cause && describeCause(cause)],
];

const idColumn: Columns<Listed> = [['membership', ({ id }) => id, { align: 'right' }]];

const columns: Columns<Listed> = [...personColumns, ...sinceColumns, ['problem', problemOf], ...idColumn];

const waitingColumns: Columns<z.output<typeof Waiting>> = [
  ...personColumns,
  ['waiting for', ({ waitsFor }) => waits[waitsFor]],
  ['expires', ({ invitation }) => invitation?.expiresAt, { as: 'age' }],
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
      leaving,
      ...paging,
    }),
    out: page(Membership),
    async run({ limit, cursor, undecided, leaving: isLeaving, ...filter }, ctx) {
      const { kysely } = ctx.database;
      const by = { ...filter, isUndecided: undecided };
      const found = isLeaving
        ? await pageLeaving('members leaving', { limit, cursor }, (afterLeaving, most) =>
            listMemberships(kysely, { ...by, isLeaving, afterLeaving, limit: most }),
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
    show: table(
      waitingColumns,
      'No invitation is waiting. One appears here when neither the tool nor your mail server sends it.',
    ),
  }),
  show: read('GET /memberships/{membership}', 'Show one membership: why it is as it is, and what happened', {
    asks: 'services',
    in: one,
    out: MembershipInFull,
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

const waits: Record<z.output<typeof Waiting>['waitsFor'], string> = {
  work_email: 'a work email',
  mail: 'the mail server',
  operator: 'you to send it',
  new_invitation: 'a new invitation',
  renewal: 'you to renew it: it expired',
};
