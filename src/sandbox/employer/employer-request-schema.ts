import { z } from 'zod';
import { EndpointUrl, toEventTypes, WholeNumber } from '../platform-request-schema.ts';
import { audiences, employerEventTypes } from './employer-answer-schema.ts';

/** The requests of the employers' API (spec: part A section 4, part B section 4.1). Unknown keys are ignored. */

const ListCursor = z.string().regex(/^\d+$/, 'this listing did not return it');

/** Assumed, because the sizes of pages are not documented. */
export const PageQuery = z.object({
  cursor: ListCursor.default('0').transform(Number).pipe(z.int()),
  limit: WholeNumber.pipe(z.int().min(1).max(100)).default(25),
});

export const NewToken = z.object({
  name: z.string().min(1).max(120).default('API token'),
  scopes: z.array(z.string()).optional(),
  expiresAt: z.iso.datetime({ offset: true }).nullish(),
});

export const ContractsOfJob = z.object({
  jobId: z.string().optional(),
  status: z.enum(['active', 'ended']).optional(),
  cursor: ListCursor.optional(),
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

export const NewWebhook = z.object({ url: EndpointUrl, eventTypes: toEventTypes(employerEventTypes) });

export const UpdatesQuery = z.object({
  cursor: z.string().regex(/^\d+$/, 'must be the id of an event').optional(),
  limit: WholeNumber.pipe(z.int().min(1).max(200)).default(50),
});

export const ManifestQuery = z.object({ audience: z.enum(audiences).optional() });

export const ContentQuery = z.object({
  /** The draft by default. */
  revision: WholeNumber.pipe(z.int()).optional(),
  format: z.enum(['json', 'html', 'markdown']).default('json'),
});
