import type { Endpoint } from './record-schema.ts';

export type { Endpoint };

export interface NewEndpoint {
  /** https, or http for localhost. */
  url: string;
  eventTypes: readonly string[];
}

export interface EndpointChanges {
  url?: string;
  eventTypes?: readonly string[];
  status?: 'ACTIVE' | 'DISABLED';
}

export interface CreatedEndpoint {
  endpoint: Endpoint;
  /** The marketplace shows it only this once. */
  secret: string;
}
