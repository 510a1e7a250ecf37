import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import type { Install } from '../installs/install.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Clock } from '../lib/clock.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';

/** What pages read from and act with. */
export interface ConsoleParts {
  config: Config;
  database: Database;
  box: SecretBox;
  inbox: InboxStore;
  memberships: MembershipStore;
  /** All installs that are configured or connected, always current. */
  installs: ReadonlyMap<string, Install>;
  /** By the name of the tool. */
  adapters: ReadonlyMap<string, Adapter>;
  /** The clock of the database. */
  clock: Clock;
}
