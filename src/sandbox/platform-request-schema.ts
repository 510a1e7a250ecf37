import { z } from 'zod';
import { Refusal } from './error-response.ts';
import { provisioningModes, sandboxEventTypes } from './platform-answer-schema.ts';

/** The requests of the platform API. Unknown keys are ignored, as the real marketplace does. */

/** Sent as text. */
export const WholeNumber = z.string().regex(/^\d+$/, 'must be a whole number').transform(Number);

const maxUrlChars = 2048;

export const CreateProjectLink = z.object({
  externalProjectId: z.string().min(1).max(200),
  externalProjectName: z.string().max(300).nullable().default(null),
  externalProjectUrl: z
    .url({ protocol: /^https?$/ })
    .max(maxUrlChars)
    .nullable()
    .default(null),
  provisioningMode: z.enum(provisioningModes).default('PARTNER_WEBHOOK'),
  jobId: z.string().min(1).nullable().default(null),
});

export const EndpointUrl = z
  .string()
  .max(maxUrlChars)
  .refine(isDeliverable, { error: 'must be https, or http for localhost' });

function isDeliverable(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLocal);
}

export function toEventTypes<Type extends string>(types: readonly Type[]) {
  return z
    .array(z.enum(types))
    .min(1)
    .transform((some) => [...new Set(some)]);
}

const EventTypes = toEventTypes(sandboxEventTypes);

export const CreateWebhookEndpoint = z.object({ url: EndpointUrl, eventTypes: EventTypes });

export const UpdateWebhookEndpoint = z.object({
  url: EndpointUrl.optional(),
  eventTypes: EventTypes.optional(),
  status: z.enum(['ACTIVE', 'DISABLED']).optional(),
});

export const Redeliver = z.object({ deliveryId: z.string().min(1).optional() });

export const ContractQuery = z.object({
  projectLinkId: z.string().optional(),
  status: z.enum(['active', 'ended']).optional(),
  limit: WholeNumber.pipe(z.int().min(1).max(200)).default(50),
  cursor: z.string().optional(),
});

const Count = z.int().min(0);

export const UsageReport = z.object({
  entries: z
    .array(
      z.object({
        workDate: z.iso.date(),
        totalSeconds: Count.max(86_400).optional(),
        tasksCompleted: Count.optional(),
        labelsCompleted: Count.optional(),
        workerOpentrainUserId: z.string().min(1).optional(),
        externalReportId: z.string().optional(),
      }),
    )
    .min(1)
    .max(100),
});
export type UsageReport = z.infer<typeof UsageReport>;

export type RequestSchema<T> = z.ZodType<T>;
export type RecordSchema = z.ZodObject;

/** @throws Refusal `invalid` that names each error with its path */
export function parseRequest<T>(schema: RequestSchema<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({
    path: path.join('.'),
    message,
  }));
  const summary = issues.map(({ path, message }) => `${path || 'body'}: ${message}`).join('; ');
  throw new Refusal('invalid', summary, { issues });
}
