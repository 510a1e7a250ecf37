import { z } from 'zod';
import { deliveryStates } from '../../domain/delivery.ts';
import {
  count,
  day,
  instant,
  maybeText,
  pageSchema,
  paging,
  rowNumber,
  rowNumberInBody,
  text,
} from './common-schema.ts';

/** What the marketplace sent, and what became of it. */

export const deliveryParams = z.strictObject({ delivery: rowNumber });

export const delivery = z
  .object({
    id: z.int(),
    install: z.string(),
    deliveryId: maybeText.describe('The id of the sender.'),
    eventType: maybeText,
    subjectId: maybeText,
    receivedAt: instant,
    state: z.enum(deliveryStates),
    attempts: count,
    failure: maybeText,
    readerVersion: z.int().nullable(),
    bodySha256: z.string(),
    headers: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Delivery' });

const filter = {
  install: text.optional(),
  state: z.enum(deliveryStates).optional(),
  type: text.optional().describe('The type of the event.'),
  since: day.optional().describe('Received on this day or later.'),
  until: day.optional().describe('Received on this day or earlier.'),
};

export const deliveryQuery = z.strictObject({ ...paging, ...filter });

export const deliveryPage = pageSchema(delivery);

export const bodyAnswer = z.object({
  id: z.int(),
  body: z.string().describe('The bytes as they came, in base64. It names people.'),
});

const ids = z.array(rowNumberInBody).min(1).max(1000);
const failed = z.literal(true).describe('All that could not be handled.');

export const replayBody = z.union([
  z.strictObject({ ids, failed: failed.optional() }),
  z.strictObject({ failed }),
  z
    .strictObject({ matching: z.strictObject(filter) })
    .describe('The newest 1,000 that match; an empty filter matches all.'),
]);

export const replayAnswer = z.object({
  replayed: z.array(z.int()),
  left: z.array(z.int()).describe('Of a type that nothing uses, whose body was not kept.'),
  act: z.int().nullable().describe('The row of the audit log; null if nothing was replayed.'),
});
