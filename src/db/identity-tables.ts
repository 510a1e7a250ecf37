import type { Generated, Selectable } from 'kysely';
import type { Customer, Server } from '../domain/binding.ts';

export interface IdentityTables {
  membershipAddress: MembershipAddressTable;
  account: AccountTable;
  installBinding: Customer & { install: string };
  toolBinding: Server & { tool: string };
}

/**
 * An address that a membership is, or was, for, as the install gave it: sealed as there. One that
 * somebody was let in under is taken out under it.
 */
interface MembershipAddressTable {
  id: Generated<number>;
  membershipId: number;
  install: string;
  trainerId: string;
  workEmail: Buffer;
  workEmailDigest: string;
  workEmailDomain: string | null;
  /** Whether it is the one that the membership is for now. */
  isCurrent: number;
  /** Since when they may have been let in under it: the first intent to that found them absent. */
  givenAt: string | null;
  /** When they were found to be out under it, after that. */
  endedAt: string | null;
  /** Whether that intent found no account of this address in the whole tool; null: not known. */
  wasAbsent: number | null;
}

/** A login in a tool, by the tool's id. One that is not here is not known to be ours. */
interface AccountTable {
  tool: string;
  accountId: string;
  /** Whether we made it: only then may it be ended, renamed or activated. */
  isOurs: number;
  seenAt: string;
  /** Whose it was when we learnt of it: an id is one trainer's. Null: of several, or not known. */
  trainerId: string | null;
  /** When the tool says that it was made: another account of the same id was made later. */
  madeAt: string | null;
}

export type MembershipAddressRow = Selectable<MembershipAddressTable>;
