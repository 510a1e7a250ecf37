import { z } from 'zod';
import { toId, toInstantText, toText } from '../../domain/marketplace-text.ts';
import { Amount, Id, lenient, optional } from './fields-schema.ts';

const Milestone = z.object({
  id: Id,
  name: optional(toText),
  amountUsd: Amount,
  volume: Amount,
  status: optional(toText),
});

export const Budget = z.object({
  contractId: Id,
  paymentType: optional(toId),
  state: z.string(),
  fundedVolume: Amount,
  fundedAmountUsd: Amount,
  consumed: z
    .object({ seconds: Amount, hours: Amount, labels: Amount, tasks: Amount })
    .nullish()
    .catch(null)
    .transform((consumed) => consumed ?? null),
  consumedVolume: Amount,
  remainingVolume: Amount,
  consumedFraction: Amount,
  activeMilestone: lenient(Milestone.nullable()),
  lastUsageAt: optional(toInstantText),
});
