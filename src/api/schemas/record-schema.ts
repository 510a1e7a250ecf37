import { z } from 'zod';
import { dispatchStates } from '../../domain/notice.ts';
import { count, instant, maybeInstant, maybeText, pageSchema, paging, rowNumber, text } from './common-schema.ts';

/** What operators did, and what was sent to people. */

export const actParams = z.strictObject({ act: rowNumber });

export const act = z
  .object({
    id: z.int(),
    at: instant,
    actor: z.string(),
    origin: z.string().describe('From where it was done.'),
    action: z.string(),
    subject: z.string(),
    before: maybeText,
    after: maybeText,
  })
  .meta({ id: 'Act', description: 'One row of the audit log.' });

export const actQuery = z.strictObject({
  ...paging,
  actor: text.optional().describe('Only what this operator did.'),
  before: rowNumber.optional().describe('Only what was done before this row.'),
});

export const actPage = pageSchema(act);

const notification = z
  .object({
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
    isOver: z.boolean().optional().describe('Of an alert: whether it says that it is over.'),
    endsAtOnce: z.boolean().optional().describe('Of an alert: whether no notice follows that says that it is over.'),
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
  })
  .meta({ id: 'Notification', description: 'A notice in one channel: about a budget, or an alert with its message.' });

export const notificationQuery = z.strictObject({ ...paging, state: z.enum(dispatchStates).optional() });

export const notificationPage = pageSchema(notification);

export const tryChannelsBody = z.strictObject({ channel: text.optional().describe('Only this channel.') });

export const tryChannelsAnswer = z.object({
  trials: z.array(
    z.object({
      channel: z.string(),
      outcome: z.enum(['sent', 'deferred', 'refused', 'gone']),
      failure: maybeText,
    }),
  ),
});
