import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { dispatchStates } from '../domain/notice.ts';
import { type Channel, tryChannels } from '../notify/channels.ts';
import { listDispatches } from '../notify/notice-store.ts';
import { act, group, read } from './operation.ts';
import { page, pageById, paging } from './paging.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { count, instant, maybeInstant, maybeText, named, text } from './values.ts';

/** The notifications that were sent to your channels, and a test of the channels. */

const Notification = named(
  { id: 'Notification', description: 'A notice in one channel: about a budget, or an alert with its message.' },
  {
    id: z.int(),
    kind: z.string(),
    channel: z.string(),
    state: z.enum(dispatchStates),
    attempts: count,
    createdAt: instant,
    occurredAt: instant,
    nextAttemptAt: maybeInstant,
    settledAt: maybeInstant,
    failure: maybeText,
    messageId: maybeText,
    install: z.string().optional(),
    contractId: z.string().optional(),
    isRepeat: z.boolean().optional().describe('Whether it is a reminder.'),
    isOver: z.boolean().optional().describe('Of an alert: whether it says that the trouble is over.'),
    endsAtOnce: z.boolean().optional().describe('Of an alert: whether no notification follows when it is over.'),
    since: instant.optional().describe('Of an alert: when it was raised.'),
    budget: z
      .object({
        fundedVolume: z.number().nullable(),
        fundedAmountUsd: z.number().nullable(),
        consumedVolume: z.number().nullable(),
        remainingVolume: z.number().nullable(),
        consumedFraction: z.number().nullable(),
      })
      .optional(),
    message: z.string().optional(),
    about: z.record(z.string(), z.string()).optional(),
  },
);

type Notification = z.output<typeof Notification>;

const columns: Columns<Notification> = [
  ['kind', ({ kind }) => kind],
  ['says', sayOf, { isBeneath: true }],
  ['message', ({ message }) => message],
  ['about', sayAbout, { isBeneath: true }],
  ['channel', ({ channel }) => channel],
  ['state', ({ state }) => state, { as: 'state' }],
  ['added', ({ createdAt }) => createdAt, { as: 'age' }],
  ['tries', ({ attempts }) => attempts, { align: 'right' }],
  ['next', ({ nextAttemptAt }) => nextAttemptAt, { as: 'age' }],
  ['problem', ({ failure }) => failure],
];

function sayAbout({ about, install, contractId }: Notification): string {
  const named = about ?? { ...(install && { install }), ...(contractId && { contract: contractId }) };
  return Object.entries(named)
    .map(([what, id]) => `${what} ${id}`)
    .join(', ');
}

function sayOf({ kind, isOver = kind === 'budget.ok', isRepeat = false }: Notification): string {
  if (isOver) return 'over';
  return isRepeat ? 'reminder' : 'raised';
}

const Trial = z.object({
  channel: z.string(),
  outcome: z.enum(['sent', 'deferred', 'refused', 'gone']),
  failure: maybeText,
});

const trialColumns: Columns<z.output<typeof Trial>> = [
  ...fieldColumns('channel', 'outcome'),
  ['problem', ({ failure }) => failure],
];

export const operations = group('notifications', {
  list: read('GET /notifications', 'List notifications by channel, newest first', {
    in: z.strictObject({
      state: z.enum(dispatchStates).optional().describe('Only those in one state.'),
      ...paging,
    }),
    out: page(Notification),
    run: ({ state, ...wish }, ctx) =>
      pageById('notifications', wish, (before, limit) => listDispatches(ctx, { state, before, limit })),
    show: table(columns, 'No notifications match. An alert appears here once a channel is configured for it.'),
  }),
  test: act('POST /notifications/test', 'Send a test notification now, and say whether it arrived', {
    asks: 'channels',
    in: z.strictObject({ channel: text.optional().describe('Only to this channel.') }),
    out: z.object({ trials: z.array(Trial) }),
    async run({ channel }, ctx, { by, signal }) {
      const channels = pickChannels(ctx.channels, channel);
      const trials = await tryChannels(channels, ctx.clock, signal);
      const names = channels.map(({ name }) => name).join(', ');
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'notifications test', names));
      return { trials };
    },
    show: table(trialColumns, 'No channel was tried.', 'trials'),
    status: ({ trials }) => (trials.every(({ outcome, failure }) => outcome === 'sent' && failure === null) ? 0 : 1),
  }),
});

function pickChannels(channels: readonly Channel[], named: string | undefined): Channel[] {
  const picked = channels.filter(({ name }) => named === undefined || name === named);
  if (picked.length > 0) return picked;
  if (channels.length === 0) {
    throw new AppError('not_found', 'No channel is configured: add one to notifications.channels');
  }
  const known = channels.map(({ name }) => name).join(', ');
  throw new AppError('not_found', `There is no channel "${named}"; there are: ${known}`);
}
