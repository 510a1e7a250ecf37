import type { Generated, Selectable } from 'kysely';
import type { Customer, Server } from '../domain/binding.ts';
import type { Instance } from '../domain/instance.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';

/** The tables about who is who: addresses, accounts, customers, servers, running instances and tokens. */

export interface IdentityTables {
  membershipAddress: MembershipAddressTable;
  account: AccountTable;
  installBinding: Customer & { install: string };
  toolBinding: Server & { tool: string };
  toolTrouble: ToolTrouble;
  instance: Instance;
  replacedToken: ReplacedTokenTable;
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

/** The token of an employer's account that is used instead of a replaced one. */
interface ReplacedTokenTable {
  /** The SHA-256 of the token as it is configured or connected. */
  digest: string;
  token: Buffer;
  tokenId: string;
  replacedId: string;
}

export type MembershipAddressRow = Selectable<MembershipAddressTable>;
