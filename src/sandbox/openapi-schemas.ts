import { paymentTypes, provisioningModes, sandboxEventTypes, scopes } from './sandbox-state.ts';

/** The part of JSON Schema that the description of the platform API needs. */
export interface OpenapiSchema {
  $ref?: string;
  type?: string | string[];
  enum?: readonly (string | null)[];
  format?: string;
  minimum?: number;
  items?: OpenapiSchema;
  anyOf?: OpenapiSchema[];
  properties?: Record<string, OpenapiSchema>;
  required?: string[];
}

export const text: OpenapiSchema = { type: 'string' };
export const trueOrFalse: OpenapiSchema = { type: 'boolean' };
export const amount: OpenapiSchema = { type: 'number' };
export const count: OpenapiSchema = { type: 'integer', minimum: 0 };
const instant: OpenapiSchema = { type: 'string', format: 'date-time' };
export const nullableText: OpenapiSchema = { type: ['string', 'null'] };
const nullableInstant: OpenapiSchema = { type: ['string', 'null'], format: 'date-time' };

export function ref(name: string): OpenapiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function listOf(items: OpenapiSchema): OpenapiSchema {
  return { type: 'array', items };
}

export function oneOf(values: readonly (string | null)[]): OpenapiSchema {
  return { type: values.includes(null) ? ['string', 'null'] : 'string', enum: values };
}

/** A property is required unless it is named in `optional`. */
export function record(properties: Record<string, OpenapiSchema>, optional: readonly string[] = []): OpenapiSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

export const schemas: Record<string, OpenapiSchema> = {
  Error: record(
    {
      error: text,
      code: oneOf([
        'BAD_REQUEST',
        'UNAUTHORIZED',
        'FORBIDDEN',
        'NOT_FOUND',
        'CONFLICT',
        'RATE_LIMITED',
        'INTERNAL_ERROR',
      ]),
      requestId: text,
      details: { type: 'object' },
    },
    ['details'],
  ),
  Install: record({
    id: text,
    status: oneOf(['ACTIVE', 'REVOKED']),
    scopes: listOf(oneOf(scopes)),
    piiConsent: trueOrFalse,
    organizationId: text,
    createdAt: instant,
    partnerApp: record({ id: text, slug: text, name: text }),
    token: record({ id: text, name: text, scopes: listOf(oneOf(scopes)) }),
  }),
  ProjectLink: record({
    id: text,
    jobId: nullableText,
    externalProjectId: text,
    externalProjectName: nullableText,
    externalProjectUrl: nullableText,
    provisioningMode: oneOf(provisioningModes),
    createdAt: instant,
  }),
  Contract: record({
    id: text,
    status: oneOf(['active', 'ended']),
    jobId: text,
    title: text,
    startDate: instant,
    endDate: nullableInstant,
    createdAt: instant,
    projectLinkIds: listOf(text),
  }),
  Participant: record(
    {
      opentrainUserId: text,
      displayName: text,
      country: text,
      profileUrl: text,
      workEmail: { type: 'string', format: 'email' },
    },
    ['workEmail'],
  ),
  Milestone: record({ id: text, name: text, amountUsd: amount, volume: amount, status: text }),
  Budget: record({
    contractId: text,
    paymentType: oneOf([...paymentTypes, null]),
    state: oneOf(['OK', 'LOW', 'DEPLETED']),
    fundedVolume: amount,
    fundedAmountUsd: amount,
    consumed: record({ seconds: count, hours: amount, labels: count, tasks: count }),
    consumedVolume: amount,
    remainingVolume: amount,
    consumedFraction: amount,
    activeMilestone: { anyOf: [ref('Milestone'), { type: 'null' }] },
    lastUsageAt: nullableInstant,
  }),
  WebhookEndpoint: record({
    id: text,
    url: text,
    eventTypes: listOf(oneOf(sandboxEventTypes)),
    status: oneOf(['ACTIVE', 'DISABLED']),
    createdAt: instant,
    consecutiveFailures: count,
    disabledAt: nullableInstant,
    disabledReason: nullableText,
  }),
};
