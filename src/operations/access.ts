import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { membershipStates } from '../domain/membership.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { listAccessHistory } from '../memberships/access-history-store.ts';
import { type LeavingKey, leavingKeyOf, listAccess } from '../memberships/membership-list-store.ts';
import { group, read } from './operation.ts';
import { type PageRequest, page, pageBy, pageById, paging } from './paging.ts';
import { type Columns, contractPath, membershipPath, table, trainerPath } from './show.ts';
import {
  contractKey,
  flag,
  instant,
  maybeInstant,
  maybeText,
  named,
  ofInstall,
  ofTool,
  rowNumber,
  text,
} from './values.ts';

/** Who has or had access to which project, and why. */

/** A trainer in a group of a tool. */
const who = { displayName: maybeText, trainerId: z.string(), tool: z.string(), groupId: z.string() };

export const membership = {
  id: z.int(),
  ...who,
  install: z.string(),
  state: z.enum(membershipStates),
  wanted: z.boolean(),
  cause: maybeText.describe('Why they are to be removed.'),
  failure: maybeText,
  doubtedId: maybeText.describe('An account that may be theirs.'),
  updatedAt: instant.describe('Since when it is in this state.'),
  removeAfter: maybeInstant,
};

export const person = { membershipId: z.int(), ...who };

const Reason = named('Reason', {
  ...contractKey,
  linkId: z.string(),
  title: maybeText,
  endDate: maybeText,
  externalProjectId: maybeText,
  externalProjectName: maybeText,
});

export const Access = named('Access', {
  ...membership,
  reasons: z.array(Reason).describe('Recorded reasons, active or not.'),
});

export type Access = z.output<typeof Access>;

const Stretch = named(
  { id: 'AccessStretch', description: 'A time in which a trainer could get into a group of a tool.' },
  {
    ...person,
    number: z.int().describe('Counts the stretches of a membership, from 1.'),
    from: maybeInstant.describe('When Gangway first saw that they could get in; null if no receipt says so.'),
    mayBeFrom: maybeInstant.describe('When a call without a clear answer may already have let them in.'),
    until: maybeInstant.describe('When Gangway first saw that they no longer could; null while they can.'),
    isAdded: z.boolean().describe('Whether Gangway added them. Otherwise they were in before.'),
    contracts: z.array(z.object(contractKey)),
    cause: maybeText.describe('Why they were removed.'),
    lockOutMs: z.number().nullable().describe('Milliseconds from when they should have been out until they were.'),
    doubts: z.array(z.string()).describe('What is not known.'),
  },
);

export const trainerColumns: Columns<{ displayName: string | null; trainerId: string }> = [
  ['name', ({ displayName }) => displayName, { to: ({ trainerId }) => trainerPath(trainerId) }],
  ['trainer', ({ trainerId }) => trainerId, { isBeneath: true }],
];

export const whoColumns: Columns<Pick<z.output<typeof Stretch>, 'displayName' | 'trainerId' | 'groupId' | 'tool'>> = [
  ...trainerColumns,
  ['group', ({ groupId }) => groupId],
  ['tool', ({ tool }) => tool, { isBeneath: true }],
];

const stretchColumns: Columns<z.output<typeof Stretch>> = [
  ...trainerColumns,
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['from', ({ from }) => from ?? 'not known'],
  ['maybe from', ({ mayBeFrom }) => mayBeFrom],
  ['until', ({ until }) => until],
  ['contracts', ({ contracts }) => contracts.map(({ install, contractId }) => `${install}/${contractId}`).join(' ')],
  ['added by', ({ isAdded }) => (isAdded ? 'Gangway' : 'someone else')],
  ['removed because', ({ cause }) => cause && describeCause(cause)],
  ['lock-out in s', ({ lockOutMs }) => (lockOutMs === null ? null : (lockOutMs / 1000).toFixed(1)), { align: 'right' }],
  ['not known', ({ doubts }) => doubts.join('; ')],
  ['membership', ({ membershipId: id }) => id, { align: 'right', to: ({ membershipId: id }) => membershipPath(id) }],
];

export const accessColumns: Columns<Access> = [
  ...trainerColumns,
  ['project', (access) => projectsOf(access).join('; ')],
  ['tool', ({ tool }) => tool, { isBeneath: true }],
  ['install', ({ install }) => install, { isBeneath: true }],
  ['state', ({ state }) => state, { as: 'state', to: ({ id }) => membershipPath(id) }],
  ['since', ({ updatedAt }) => updatedAt, { as: 'age' }],
  ['reason', reasonOf, { to: ({ reasons: [first] }) => first && contractPath(first.contractId) }],
  ['problem', problemOf],
  ['until', untilOf, { as: 'age' }],
];

export const leaving = flag('Only those whose access is about to end, the soonest first.');

/** One page of the members whose access is about to end. */
export async function pageLeaving<Row extends Parameters<typeof leavingKeyOf>[0]>(
  list: string,
  request: PageRequest,
  find: (after: LeavingKey | undefined, limit: number) => Promise<Row[]>,
) {
  return await pageBy(list, { leavesAt: z.string(), id: rowNumber }, request, async (after, limit) =>
    (await find(after, limit)).map((row) => ({ ...row, ...leavingKeyOf(row) })),
  );
}

const anInstant = z.iso.datetime({ offset: true });

export const operations = group('access', {
  list: read('GET /access/history', 'List who had access where, from when to when, and by which contracts', {
    in: z.strictObject({
      from: anInstant.optional().describe('The start of the period, such as 2026-03-15T12:00:00Z.'),
      to: anInstant.optional().describe('The end of the period; now by default.'),
      install: text.optional().describe('Only access by contracts of this install.'),
      ...paging,
    }),
    out: page(Stretch),
    async run({ from, to, install, ...wish }, { database: { kysely }, clock }) {
      const period = {
        from: toInstant(new Date(from ?? 0)),
        to: toInstant(to === undefined ? clock.now() : new Date(to)),
        install,
      };
      if (period.from > period.to) throw new AppError('invalid', 'from must be before to');
      return await pageBy('access', { membershipId: rowNumber, number: rowNumber }, wish, (after, limit) =>
        listAccessHistory(kysely, period, { after, limit }),
      );
    },
    show: table(stretchColumns, 'Nobody had access in this period.'),
  }),
  search: read('GET /access', 'Find who has or had access to which project, and why, newest first', {
    args: ['q'],
    in: z.strictObject({
      q: text.optional().describe('Part of a name or of a project, a whole id, or a work address.'),
      state: z.enum(membershipStates).optional().describe('Only those in one state.'),
      install: ofInstall,
      tool: ofTool,
      project: text.optional().describe('The id of the project, or of the group in the tool.'),
      trainer: text.optional().describe('The id of the trainer.'),
      contract: text.optional().describe('A contract that is, or was, a reason.'),
      leaving,
      ...paging,
    }),
    out: page(Access),
    async run({ q, trainer, contract, leaving: isLeaving, limit, cursor, ...filter }, ctx) {
      const search = q === undefined ? undefined : { text: q, digest: ctx.box.digest(q.toLowerCase()) };
      const by = { ...filter, search, isLeaving, trainerId: trainer, contractId: contract };
      const { kysely } = ctx.database;
      return isLeaving
        ? await pageLeaving('access leaving', { limit, cursor }, (afterLeaving, most) =>
            listAccess(kysely, { ...by, afterLeaving, limit: most }),
          )
        : await pageById('access search', { limit, cursor }, (before, most) =>
            listAccess(kysely, { ...by, before, limit: most }),
          );
    },
    show: table(
      accessColumns,
      'Nobody matches. Trainers appear here when a contract begins whose job is linked to a project.',
    ),
  }),
});

/** The customers' names of the projects; the id of the group if no project is known. */
export function projectsOf({ reasons, groupId }: Pick<Access, 'reasons' | 'groupId'>): string[] {
  const projects = reasons.flatMap(({ externalProjectId: id, externalProjectName: name }) => {
    if (id === null) return [];
    return [name === null || name === id ? id : `${name} (${id})`];
  });
  return projects.length === 0 ? [groupId] : [...new Set(projects)];
}

/** Why somebody has access, or why it ends. */
export function reasonOf({ cause, wanted, reasons }: Pick<Access, 'cause' | 'wanted' | 'reasons'>): string {
  if (cause !== null) return describeCause(cause);
  return wanted ? contractsOf(reasons).map(titleOf).join('; ') : 'no active contract';
}

type Reason = z.output<typeof Reason>;

export function contractsOf(reasons: readonly Reason[]): Reason[] {
  return [...new Map(reasons.map((one) => [JSON.stringify([one.install, one.contractId]), one])).values()];
}

export function titleOf({ title, contractId }: Pick<Reason, 'title' | 'contractId'>): string {
  return title ?? `contract ${contractId}`;
}

/** What keeps somebody from getting in or out. */
export function problemOf({
  state,
  failure,
  doubtedId,
}: Pick<Access, 'state' | 'failure' | 'doubtedId'>): string | null {
  if (state === 'held') return ['leaves when the plan is approved', failure].filter((part) => part !== null).join(': ');
  return failure ?? (doubtedId === null ? null : `account ${doubtedId}: whose is it?`);
}

/** When the access ends, as far as that is known. */
export function untilOf({
  removeAfter,
  reasons,
  wanted,
}: Pick<Access, 'removeAfter' | 'reasons' | 'wanted'>): string | null {
  if (removeAfter !== null) return removeAfter;
  const ends = reasons.flatMap(({ endDate }) => endDate ?? []);
  // A contract without a known end gives access without a known end.
  if (!wanted || ends.length < reasons.length) return null;
  return ends.sort().at(-1) ?? null;
}
