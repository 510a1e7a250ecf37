import type { Generated } from 'kysely';
import type { RunTrigger } from '../domain/run.ts';
import type { SourceKind } from '../domain/source-kind.ts';

/** The tables of installs and of the delivery of their events. */

export interface InstallTables {
  connectedInstall: ConnectedInstallTable;
  feed: FeedTable;
  installState: InstallStateTable;
  jobLink: JobLinkTable;
  subscription: SubscriptionTable;
  webhookEndpoint: WebhookEndpointTable;
}

/** An install that was connected by command. It is in the database and not in the configuration. */
export interface ConnectedInstallTable {
  install: string;
  source: SourceKind;
  token: Buffer;
  tool: string;
  /** A JSON list of patterns. */
  projects: string;
  /** The id that the marketplace gave to the grant of the token. */
  grantId: string;
  /** The organization that gave the grant; null if the marketplace did not say. */
  organizationId: string | null;
  connectedAt: string;
}

/** A link of an employer's own account: the people of the job work in the project. */
export interface JobLinkTable {
  install: string;
  linkId: string;
  jobId: string;
  externalProjectId: string;
}

/** How far the updates feed of an account was read for an install. */
export interface FeedTable {
  install: string;
  /** The account: another one has another feed. */
  grantId: string;
  /** Every event up to it is stored; null before the first. */
  cursor: string | null;
  nextReadAt: string;
  /** While it is being read, when another process may take over. */
  leasedUntil: string | null;
  /** When the last reading that was answered began. */
  readAt: string | null;
  /** How many readings in a row have failed. */
  failures: number;
  failure: string | null;
  failingSince: string | null;
}

/** A webhook endpoint that delivers here, for an install from the configuration or from the database. */
export interface WebhookEndpointTable {
  install: string;
  endpointId: string;
  /** Null if it was made by hand and its secret is in the configuration. */
  secret: Buffer | null;
  storedAt: string;
}

/** The state of an install's webhook endpoint. */
export interface SubscriptionTable {
  install: string;
  nextCheckAt: string | null;
  leasedUntil: string | null;
  checkedAt: string | null;
  /** What the last check could not repair, as JSON. */
  trouble: string | null;
  /** Since when an endpoint may exist whose secret is not stored; null if none can. */
  creatingSince: string | null;
  /** When a delivery was last refused because no secret matched. */
  unmatchedAt: string | null;
  /** The last three times at which it was enabled again, as a JSON list. */
  enabledAt: Generated<string>;
}

/** The reads of a whole install, and what waits for them. */
export interface InstallStateTable {
  install: string;
  /** Nothing that was due before this is converged until the install is read. */
  heldSince: string | null;
  /** No removal on weaker evidence from before this is cleared until the install is read. */
  removalsHeldSince: string | null;
  readWantedAt: string | null;
  readWantedBy: RunTrigger | null;
  readBeganAt: string | null;
  attempts: Generated<number>;
  nextAttemptAt: string | null;
  leasedUntil: string | null;
  failure: string | null;
  /** When the last list of its active contracts began whose contracts are all evidence now. */
  activeListedAt: string | null;
  /** Since when a removal waits for such a list; null if none does. */
  listWantedAt: string | null;
  /** When the list is due (again). */
  listDueAt: string | null;
}
