import { z } from 'zod';
import {
  Amount,
  Contract,
  Endpoint,
  Grant,
  Link,
  NullableId,
  Participant,
  pageOf,
  recordIn,
  Secret,
} from '../record-schema.ts';

// The envelopes of the platform API's answers.

export const GrantAnswer = recordIn('install', Grant);

export const LinkPage = pageOf('projectLinks', Link);
export const LinkAnswer = recordIn('projectLink', Link);

export const ContractPage = pageOf('contracts', Contract);
export const ParticipantPage = z.object({ contractId: NullableId }).and(pageOf('participants', Participant));
export type ParticipantPage = z.infer<typeof ParticipantPage>;

export const EndpointPage = pageOf('webhookEndpoints', Endpoint);
export const EndpointAnswer = recordIn('webhookEndpoint', Endpoint);
export const CreatedEndpointAnswer = z
  .object({ webhookEndpoint: Endpoint, secret: Secret })
  .transform(({ webhookEndpoint: endpoint, secret }) => ({ endpoint, secret }));

/** The number of deliveries that will be sent again. */
export const RedeliverAnswer = recordIn('requeued', Amount).prefault({});

/** The answer must confirm the deletion, or be empty (204). */
export const DeletedAnswer = z
  .object({ deleted: z.literal(true) })
  .optional()
  .transform(() => undefined);
