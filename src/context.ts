import type { Adapter } from './adapters/adapter.ts';
import type { Config } from './config/config-schema.ts';
import type { Database } from './db/database.ts';
import type { Install, RouteLink } from './domain/install.ts';
import type { SecretBox } from './keys/secret-box.ts';
import type { Alerts } from './lib/alerts.ts';
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/logger.ts';
import type { Polling } from './lib/loop.ts';
import type { Metrics } from './lib/metrics.ts';
import type { Source } from './marketplace/source.ts';

/** What the stores read and write with. */
export interface Storage {
  database: Database;
  box: SecretBox;
}

/** What a bridge or a command acts with. A function takes it whole, or the `Storage` in it. */
export interface Context extends Storage, Polling {
  config: Config;
  /** The clock of all stored times and of leases. */
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  alerts: Alerts;
  /** By name. Both Maps always have the latest installs. */
  installs: ReadonlyMap<string, Install>;
  /** By the name of the install. */
  sources: ReadonlyMap<string, Source>;
  /** By the name of the tool. Each works only while its tool is the server with the members. */
  adapters: ReadonlyMap<string, Adapter>;
  routeLink: RouteLink;
  /** Lets a loop of this process look for work at once. */
  wake(loop: WokenLoop): void;
}

/** The loops that others wake. */
export type WokenLoop = 'intake' | 'memberships' | 'removals' | 'resets' | 'jobs';
