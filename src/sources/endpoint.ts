/** A webhook endpoint. */
export interface Endpoint {
  id: string;
  /** `ACTIVE` or `DISABLED`. */
  status: string;
  url?: string | undefined;
  eventTypes?: string[] | undefined;
  createdAt?: string | null | undefined;
  consecutiveFailures: number | null;
  disabledAt?: string | null | undefined;
  disabledReason: string | null;
}

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
