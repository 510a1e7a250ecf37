import type { Generated, Selectable } from 'kysely';
import type { Customer, Server } from '../domain/binding.ts';
import type { Instance } from '../domain/instance.ts';
import type { RotationStep } from '../domain/rotation.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';

/** The tables about who is who: addresses, accounts, customers, servers, running instances and tokens. */

export interface IdentityTables {
  membershipAddress: MembershipAddressTable;
  account: AccountTable;
  installBinding: Customer & { install: string };
  toolBinding: Server & { tool: string };
  toolTrouble: ToolTrouble;
  instance: Instance;
  tokenRotation: TokenRotationTable;
}

/**
 * An address that the trainer of a membership has or had, as the install gave it, encrypted. Access
 * that was given under an address is removed under the same address.
 */
interface MembershipAddressTable {
  id: Generated<number>;
  membershipId: number;
  install: string;
  trainerId: string;
  workEmail: Buffer;
  workEmailDigest: string;
  workEmailDomain: string | null;
  /** Whether it is the current address. */
  isCurrent: number;
  /** Since when access may exist under it: the first intent to add that found the trainer absent. */
  givenAt: string | null;
  /** When a later look found that the access under it has ended. */
  endedAt: string | null;
  /** Whether that intent found no account with this address in the whole tool; null if unknown. */
  wasAbsent: number | null;
}

/** A login in a tool, by the tool's id. A login without a row is not known to be ours. */
interface AccountTable {
  tool: string;
  accountId: string;
  /** Whether Gangway made it. Only then it may be ended, renamed or activated. */
  isOurs: number;
  seenAt: string;
  /** The trainer that it belonged to when it became known. Null if unknown, or if there are several. */
  trainerId: string | null;
  /** When it was made, as the tool says. A later time means another account with the same id. */
  madeAt: string | null;
}

/** A token of an employer's account that replaces another one. */
export interface TokenRotationTable {
  id: string;
  /** The account. It has one rotation at a time. */
  grantId: string;
  /** For which install it was begun. The token counts for every install that has the replaced one. */
  install: string;
  step: RotationStep;
  /** The marketplace's id of the token that is replaced. */
  replacedId: string;
  /** The name of the new token, which no other has: it is found by it if its secret was lost. */
  name: string;
  /** A JSON list. */
  scopes: string;
  expiresAt: string | null;
  actor: string;
  origin: string | null;
  begunAt: string;
  /** How often the marketplace was asked to make it, and when last. */
  attempts: number;
  attemptedAt: string | null;
  /** The new token, once it was made. */
  tokenId: string | null;
  token: Buffer | null;
  /** Of the replaced token, keyed with the new one. */
  replacedDigest: string | null;
  /** Since when the new token counts. */
  switchedAt: string | null;
  /** When the old one was revoked. */
  settledAt: string | null;
  /** When the next step is due; null once it is settled. */
  nextAttemptAt: string | null;
  /** How many attempts in a row have failed. */
  failures: number;
  failure: string | null;
}

export type MembershipAddressRow = Selectable<MembershipAddressTable>;
