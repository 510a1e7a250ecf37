import type { Generated } from 'kysely';
import type { RunTrigger } from '../domain/run.ts';

/** Tables of `tables.ts` that are about installs and how their events are delivered. */

/** An install that was connected by command: it lives here and not in the configuration. */
export interface ConnectedInstallTable {
  install: string;
  token: Buffer;
  tool: string;
  /** A JSON list of patterns. */
  projects: string;
  /** The marketplace's id of what the token was given for. */
  grantId: string;
  /** Whose grant it is; null where that was not said. */
  organizationId: string | null;
  connectedAt: string;
}

/** A webhook endpoint that delivers to us, whichever way its install is configured. */
export interface WebhookEndpointTable {
  install: string;
  endpointId: string;
  /** Null where it was made by another hand, and its secret stands in the configuration. */
  secret: Buffer | null;
  storedAt: string;
}

/** How the delivery of events to an install is doing. */
export interface SubscriptionTable {
  install: string;
  nextCheckAt: string | null;
  leasedUntil: string | null;
  checkedAt: string | null;
  /** What the last check could not mend. */
  trouble: string | null;
  /** Since when an endpoint may be there whose secret nobody stored; null where none can be. */
  creatingSince: string | null;
  /** When a delivery was last refused because no secret matched. */
  unmatchedAt: string | null;
  /** When it was enabled again, as a JSON list: the last three times. */
  enabledAt: Generated<string>;
}

/** Reading the whole of an install, and what waits for that. */
export interface InstallStateTable {
  install: string;
  /** Nothing that was due before is converged until the install has been read. */
  heldSince: string | null;
  /** No removal on weaker evidence from before is let pass until the install has been read. */
  removalsHeldSince: string | null;
  readWantedAt: string | null;
  readWantedBy: RunTrigger | null;
  readBeganAt: string | null;
  attempts: Generated<number>;
  nextAttemptAt: string | null;
  leasedUntil: string | null;
  failure: string | null;
  /** When the last list of its active contracts began, all of which is known by now. */
  activeListedAt: string | null;
  /** Since when a removal waits for such a list; null where none does. */
  listWantedAt: string | null;
  /** When that is to be tried (again). */
  listDueAt: string | null;
}
