import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Install } from '../domain/install.ts';
import type { SyncInstallDeps } from '../guidelines/sync-install.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { SubscriptionDeps } from '../installs/subscription/look-at-subscription.ts';
import type { RotateDeps } from '../installs/tokens/rotate-token.ts';
import type { Storage } from '../keys/storage.ts';
import type { Clock } from '../lib/clock.ts';
import type { OrphanDeps } from '../memberships/find-orphans.ts';
import type { Approvals } from '../operator/approvals.ts';
import type { WorkDeps } from '../operator/do-work.ts';
import type { Check } from '../operator/doctor-checks.ts';
import type { ReconcileDeps } from '../reconcile/runs/reconcile-install.ts';
import type { Silence } from '../reconcile/runs/silence.ts';
import type { Usage } from '../usage/create-usage.ts';

/** What the loops of this process act with, as far as operators decide about it. */
export interface ConsoleServices extends WorkDeps, ReconcileDeps {
  silence: Silence;
  usage: Pick<Usage, 'deps'>;
  guidelines: SyncInstallDeps;
}

/** What a customer is connected with, and what changes their links and their webhook endpoint. */
export interface CustomerServices extends OrphanDeps {
  /** To load has the loops follow what has changed. */
  registry: InstallRegistry;
  subscription: SubscriptionDeps;
  rotation: RotateDeps;
}

/** What was found when an operator asked, kept by this instance until the next one asks. */
export interface Report {
  by: string;
  at: string;
  checks: readonly Check[];
}

/** What pages read from and act with. */
export interface ConsoleParts extends Storage {
  config: Config;
  /** All installs that are configured or connected, always current. */
  installs: ReadonlyMap<string, Install>;
  /** By the name of the tool. */
  adapters: ReadonlyMap<string, Adapter>;
  services: ConsoleServices;
  customers: CustomerServices;
  /** Looks at everything, as `gangway doctor` does. */
  examine(signal: AbortSignal): Promise<Check[]>;
  /** Plans that are being approved, and lately were. */
  approvals: Approvals;
  /** By what was asked. */
  reports: Map<string, Report>;
  /** The clock of the database. */
  clock: Clock;
}
