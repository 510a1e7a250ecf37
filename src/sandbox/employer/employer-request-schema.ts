import { z } from 'zod';
import { EndpointUrl } from '../platform-request-schema.ts';
import { employerEventTypes } from './account.ts';

/** The requests of the employers' API (spec: part A sections 4.2, 4.6, 4.9 and 4.10). Unknown keys are ignored. */

export const NewToken = z.object({
  name: z.string().min(1).max(120).default('API token'),
  scopes: z.array(z.string()).optional(),
  expiresAt: z.iso.datetime({ offset: true }).nullish(),
});

export const ContractsOfJob = z.object({
  jobId: z.string().optional(),
  status: z.enum(['active', 'ended']).optional(),
  cursor: z.string().regex(/^\d+$/, 'not one that this listing returned').optional(),
});

export const JobsQuery = z.object({
  cursor: z.string().regex(/^\d+$/, 'not one that this listing returned').default('0').transform(Number).pipe(z.int()),
  limit: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .default('25')
    .transform(Number)
    .pipe(z.int().min(1).max(100)),
});

export const MemberQuery = z.object({
  conversationId: z.string().min(1),
  contractId: z.string().min(1),
  includeWorkEmail: z
    .string()
    .transform((text) => text === 'true')
    .pipe(z.boolean())
    .optional(),
});

export const NewWebhook = z.object({
  url: EndpointUrl,
  eventTypes: z
    .array(z.enum(employerEventTypes))
    .min(1)
    .transform((types) => [...new Set(types)]),
});

export const UpdatesQuery = z.object({
  cursor: z.string().regex(/^\d+$/, 'must be the id of an event').optional(),
  limit: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .default(50),
});
