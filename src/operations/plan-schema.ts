import { z } from 'zod';
import { planStates } from '../domain/brake.ts';
import { count, instant, maybeInstant } from './values.ts';

export const Plan = z
  .object({
    id: z.int(),
    install: z.string(),
    state: z.enum(planStates),
    createdAt: instant,
    decidedAt: maybeInstant,
    size: count.describe('How many people it has.'),
  })
  .meta({ id: 'Plan' });
