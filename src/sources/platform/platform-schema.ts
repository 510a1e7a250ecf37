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

/** How the platform API answers with records. No other file knows it. An answer must have its records. */

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

/** How many deliveries will be sent again. */
export const RedeliverAnswer = recordIn('requeued', Amount).prefault({});

/** The deleted record is not read. The answer must say that it was deleted, or be empty (204). */
export const DeletedAnswer = z
  .object({ deleted: z.literal(true) })
  .optional()
  .transform(() => undefined);
