import { z } from 'zod';
import { maxUrlChars } from './requests.ts';
import { fields, lenient, maybeWord, optionalRecord, words } from './shapes.ts';
import { Amount, Id, Instant, NullableId, NullableInstant, Text, Words } from './values.ts';

/** The records that both APIs answer with. */

export const paymentTypes = ['PAY_PER_HOUR', 'PAY_PER_LABEL', 'FIXED_PRICE'] as const;

export const Milestone = z.object({
  id: Id,
  name: Text,
  amountUsd: Amount,
  volume: Amount,
  status: maybeWord('NOT_FUNDED', 'ACTIVE_FUNDED', 'COMPLETED'),
});

export const Freelancer = z.object({ userId: Id, displayName: Text, country: Text, profilePath: Text });

export const ContractRecord = z.object({
  id: Id,
  status: words('active', 'ended'),
  title: Text,
  jobId: NullableId,
  ...fields(NullableInstant, 'startDate', 'endDate', 'createdAt'),
});

/** Null means unknown, never 0. */
export const Budget = z.object({
  contractId: Id,
  paymentType: maybeWord(...paymentTypes),
  state: words('OK', 'LOW', 'DEPLETED'),
  fundedVolume: Amount,
  fundedAmountUsd: Amount,
  consumed: optionalRecord(z.object({ seconds: Amount, hours: Amount, labels: Amount, tasks: Amount })),
  ...fields(Amount, 'consumedVolume', 'remainingVolume', 'consumedFraction'),
  activeMilestone: lenient(Milestone.nullable()),
  lastUsageAt: Instant,
});
export type Budget = z.infer<typeof Budget>;

/** A webhook subscription of an account, or an endpoint of an install. */
export const Endpoint = z.object({
  id: Id,
  status: words('ACTIVE', 'DISABLED'),
  url: lenient(z.string().max(maxUrlChars)),
  eventTypes: lenient(Words),
  createdAt: NullableInstant,
  consecutiveFailures: Amount,
  disabledAt: NullableInstant,
  disabledReason: Text,
});
export type Endpoint = z.infer<typeof Endpoint>;

const text = { type: 'string' };
const instant = { type: 'string', format: 'date-time' };
const id = { type: 'string', format: 'id' };
const jobId = { ...id, type: ['string', 'null'] };
const data = { type: 'object' };
/** The same in the feed and in a delivery. Kept as it came, whatever it is, because the inbox interprets it. */
export const EventRecord = z.unknown().meta({
  type: 'object',
  properties: { id, type: text, apiVersion: text, createdAt: instant, resourceId: id, jobId, data },
  required: ['id', 'type'],
});

/** Any description of an API. The operations are in `paths`, by path and method. */
export const OpenapiDocument = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });
export type OpenapiDocument = z.infer<typeof OpenapiDocument>;
