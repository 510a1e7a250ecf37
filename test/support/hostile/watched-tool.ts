import type { Adapter } from '../../../src/adapters/adapter.ts';
import type { ReceivedMail } from '../mail-box.ts';
import type { AccountState, Standing } from './standing.ts';

/** A tool in which everything that changes is seen at once. */
export interface WatchedTool {
  adapter: Adapter;
  /** Called with every call, after it has had its effect and before anything else has. */
  watch(listener: (call: string) => void): void;
  standing(): Standing;
  /** Puts a person there as another hand would. Gives their accounts, as `standing` names them. */
  seed(person: SeededPerson): string[];
  /** The tool's own id of an account, where `standing` names it otherwise. */
  idOf?(account: string): string;
  /** The group that a project's people are in, as the tool names it. */
  groupOf(project: string): string;
  /** Whether an account is that of a person that an install knows so. */
  isAccountOf(person: KnownPerson, account: string, state: AccountState): boolean;
  /** Does what a mail says, where people have to do something to get in. */
  accept?(mail: ReceivedMail): Promise<void>;
}

export interface SeededPerson {
  name: string;
  email: string;
  isActive: boolean;
  /** Projects whose groups they are in, or groups that no project has. */
  groups: readonly string[];
}

export interface KnownPerson {
  trainerId: string;
  email: string;
  /** Where they were hired to. */
  projects: ReadonlySet<string>;
}

export interface WatchedToolOptions {
  /** One group for all, where the tool leaves the choice. */
  isOneForAll?: boolean;
  /** Whether it takes ids of groups for the same that differ in case or Unicode form alone. */
  foldsIds?: boolean;
  /** How people without an account get one, in a Label Studio. */
  onboarding?: 'sign_up' | 'invite_link';
}

export type OpenWatchedTool = (options: WatchedToolOptions) => Promise<WatchedTool>;

export function hasAddressOf({ email }: KnownPerson, state: AccountState): boolean {
  return state.email.toLowerCase() === email.toLowerCase();
}
