import { z } from 'zod';
import type { Context } from '../context.ts';
import {
  countUndelivered,
  listUndelivered,
  renewInvitationOf,
  takeInvitation,
  type WaitedFor,
  waitsFor,
} from '../converge/invitation-store.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey, PairEvidence } from '../domain/evidence.ts';
import { membershipStates } from '../domain/membership.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { findMembership, lookAtMemberships } from '../memberships/look-store.ts';
import { countHeld, listAccess, listMemberships } from '../memberships/membership-list-store.ts';
import { Access, leaving, membership, pageLeaving, problemOf, whoColumns } from './access.ts';
import { sayExplanation } from './explain.ts';
import { Explanation, explainSubject } from './explain-reasons.ts';
import { adopt, release } from './member-decisions.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { page, pageBy, paging } from './paging.ts';
import { type Columns, membershipPath, table } from './show.ts';
import { formatList } from './text-table.ts';
import { loadTimeline, sayTimeline, Timeline } from './timeline.ts';
import { flag, found, maybeInstant, maybeText, named, ofInstall, ofTool, rowNumber } from './values.ts';

/** Which trainers belong to which group of a tool, and which of them Gangway may remove. */

const Membership = named('Membership', {
  ...membership,
  memberId: maybeText,
  attempts: z.int(),
  nextAttemptAt: maybeInstant,
});

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
  ...whoColumns,
  ['state', ({ state }) => state, { as: 'state', to: ({ id }) => membershipPath(id) }],
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
const memberKey = { tool: z.string(), groupId: z.string(), trainerId: z.string(), id: rowNumber };
const changed = z.object({ membershipId: z.int() });

export const operations = group('members', {
  list: read('GET /memberships', 'List who belongs to which group, by tool and group', {
    in: z.strictObject({
      tool: ofTool,
      install: ofInstall,
      state: z.enum(membershipStates).optional().describe('Only those in one state.'),
      undecided: flag('Only those whom Gangway did not add, and about whom nobody has decided yet.'),
      leaving,
      ...paging,
    }),
    out: page(Membership),
    async run({ limit, cursor, undecided, leaving: isLeaving, ...filter }, ctx) {
      const { kysely } = ctx.database;
      const by = { ...filter, isUndecided: undecided };
      return isLeaving
        ? await pageLeaving('members leaving', { limit, cursor }, (afterLeaving, most) =>
            listMemberships(kysely, { ...by, isLeaving, afterLeaving, limit: most }),
          )
        : await pageBy('members', memberKey, { limit, cursor }, (after, most) =>
            listMemberships(kysely, { ...by, after, limit: most }),
          );
    },
    show: table(columns, 'No memberships match.'),
  }),
  waiting: read('GET /waiting', 'List who waits for a work address, or for you to send their login', {
    in: z.strictObject({ tool: ofTool, ...paging }),
    out: page(Waiting),
    run: ({ tool, ...wish }, ctx) =>
      pageBy('members waiting', memberKey, wish, (after, limit) => listWaiting(ctx, { tool, after, limit })),
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
      await inTransaction(ctx.database, async (tx) => {
        const { isWorkable, state } = found('membership', id, await findMembership(tx, id));
        if (!isWorkable) {
          throw new AppError('conflict', `Membership ${id} is ${state}, so a sync would change nothing`);
        }
        await lookAtMemberships(tx, [id], by.at);
        await writeAudit(tx, by, 'members converge', `membership ${id}`);
      });
      return { membershipId: id };
    },
    show: ({ membershipId }) => `A running "gangway start" syncs membership ${membershipId} now.`,
  }),
});

/** The counts that the console shows beside its sections. */
export async function countWaiting({ database: { kysely } }: Context) {
  return { held: await countHeld(kysely), invitations: await countUndelivered(kysely) };
}

export async function listWaiting(
  { database: { kysely }, config: { marketplace, mail }, clock }: Context,
  filter: Parameters<typeof listMemberships>[1],
) {
  const members = await listMemberships(kysely, { ...filter, isWaiting: true });
  const ids = members.map(({ id }) => id);
  const waiting = await listUndelivered(kysely, marketplace.managedDomains, ids);
  const invitations = new Map(waiting.map((one) => [one.membershipId, one]));
  const reach = { now: toInstant(clock.now()), hasMail: mail !== undefined };
  return members.map((member) => {
    const invitation = invitations.get(member.id) ?? null;
    const waitedFor: WaitedFor = invitation === null ? 'work_email' : waitsFor(invitation, reach);
    return { ...member, waitsFor: waitedFor, invitation };
  });
}

async function loadMembership(ctx: OperationContext, id: number): Promise<z.input<typeof MembershipInFull>> {
  const { database } = ctx;
  const { trainerId, nextAttemptAt, isWorkable } = found('membership', id, await findMembership(database.kysely, id));
  // Only the list has the reasons. Its first row before the next id is this membership.
  const [listed] = await listAccess(database.kysely, { before: id + 1, trainerId, limit: 1 });
  const access = found('membership', id, listed);
  const isReason = (one: ContractKey) =>
    access.reasons.some(({ install, contractId }) => install === one.install && contractId === one.contractId);
  const isLink = (one: Pick<PairEvidence, 'install' | 'linkId'>) =>
    access.reasons.some(({ install, linkId }) => install === one.install && linkId === one.linkId);
  const isIncluded = (pair: PairEvidence) => isReason(pair) && isLink(pair);
  const { explanations, bearing } = await explainSubject(ctx, trainerId, isIncluded);
  const about = {
    contracts: bearing.contracts.filter(isReason),
    links: bearing.links.filter(isLink),
    grants: bearing.grants,
    people: bearing.people,
    participations: bearing.participations.filter((one) => one.trainerId === trainerId && isReason(one)),
  };
  const timeline = await loadTimeline(database, { id }, about);
  return { ...access, nextAttemptAt, canConverge: isWorkable, explanations: explanations.filter(isReason), timeline };
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
