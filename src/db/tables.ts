import type { ColumnType, Generated, Insertable, Selectable } from 'kysely';
import type { DeliveryState } from '../domain/delivery.ts';
import type {
  ContractEvidence,
  GrantEvidence,
  LinkEvidence,
  PairEvidence,
  ParticipationEvidence,
  PersonEvidence,
} from '../domain/evidence.ts';
import type { DeliveredBy, InvitationKind } from '../domain/invitation.ts';
import type { MembershipState, ReceiptOutcome, ToolOperation } from '../domain/membership.ts';
import type { RunOutcome, RunTrigger } from '../domain/run.ts';
import type { RemovalCause } from '../domain/standing.ts';
import type { BudgetTables } from './budget-tables.ts';
import type { ComparisonTables } from './comparison-tables.ts';
import type { DriftTables } from './drift-tables.ts';
import type { GuidelineTables } from './guideline-tables.ts';
import type { IdentityTables } from './identity-tables.ts';
import type { InstallTables } from './install-tables.ts';
import type { JournalTable } from './journal-table.ts';
import type { NoticeTables } from './notice-tables.ts';
import type { RemovalTables, UnconfirmedColumns } from './removal-tables.ts';
import type { UsageImportEntryTable, UsageImportTable } from './usage-import-tables.ts';
import type {
  FinalReadingScopeTable,
  FinalReadingTable,
  UsageDayTable,
  UsageDecisionTable,
  UsageItemTable,
  UsageLedgerTable,
  UsagePersonTable,
  UsageScopeGroupTable,
  UsageScopeTable,
  UsageTroubleTable,
} from './usage-tables.ts';

/**
 * The database as Kysely sees it. Instants are ISO-8601 UTC text; booleans are 0 and 1 and sealed
 * values are bytes on both databases. Evidence tables hold the registers of `domain/evidence.ts`
 * as they are.
 */
export interface Tables
  extends BudgetTables,
    ComparisonTables,
    DriftTables,
    GuidelineTables,
    IdentityTables,
    InstallTables,
    NoticeTables,
    RemovalTables {
  delivery: DeliveryTable;
  installStorage: InstallStorageTable;
  contract: ContractEvidence;
  link: LinkEvidence;
  installGrant: GrantEvidence;
  contractLink: PairEvidence;
  participation: ParticipationEvidence;
  person: PersonTable;
  derivation: DerivationTable;
  readRequest: ReadRequestTable;
  membership: MembershipTable;
  intent: IntentTable;
  invitation: InvitationTable;
  receipt: ReceiptTable;
  reason: ReasonTable;
  keptAnswer: KeptAnswerTable;
  run: RunTable;
  audit: AuditTable;
  journal: JournalTable;
  contractEnd: ContractEndTable;
  forgottenPerson: ForgottenPersonTable;
  usageScope: UsageScopeTable;
  usageScopeGroup: UsageScopeGroupTable;
  usagePerson: UsagePersonTable;
  usageItem: UsageItemTable;
  usageDay: UsageDayTable;
  usageLedger: UsageLedgerTable;
  usageDecision: UsageDecisionTable;
  usageTrouble: UsageTroubleTable;
  finalReading: FinalReadingTable;
  finalReadingScope: FinalReadingScopeTable;
  namedLock: NamedLockTable;
  setting: SettingTable;
  usageImport: UsageImportTable;
  usageImportEntry: UsageImportEntryTable;
}

export interface DeliveryTable {
  id: Generated<number>;
  install: string;
  /** What identifies the body for its install: `toBodyKey`. */
  bodySha256: Buffer;
  deliveryId: string | null;
  eventType: string | null;
  /** The contract, link or install that the event is about; null if that is not known. */
  subjectId: string | null;
  receivedAt: string;
  state: DeliveryState;
  attempts: Generated<number>;
  /** When to handle it (again); null when there is nothing to do. */
  nextAttemptAt: string | null;
  /** Why it is not handled, in a few words. */
  failure: string | null;
  /** The version of the event reader that read it. */
  readerVersion: number;
  headers: string;
  /** The span of its receiving, or the trace that the sender named; null where there is neither. */
  traceContext: Generated<string | null>;
  /** Empty if it was not kept; an encrypted body is never empty. */
  body: Buffer;
}

/** How much an install has stored: the sum of its rows. */
export interface InstallStorageTable {
  install: string;
  part: number;
  bytes: number;
}

/** As `PersonEvidence`, but the address is encrypted and found by its digest. */
export interface PersonTable extends Omit<PersonEvidence, 'workEmail'> {
  workEmail: Buffer | null;
  workEmailDigest: string | null;
  /** Not encrypted, because it names no person. In lower case. */
  workEmailDomain: string | null;
}

/** The queue of trainers whose memberships are to be derived from the evidence. */
export interface DerivationTable {
  /** Counts up. */
  arrival: Generated<number>;
  /** The install whose evidence queued them. */
  install: Generated<string>;
  trainerId: string;
  /** When the last evidence about them came; empty if they are queued for another reason. */
  evidenceAt: Generated<string>;
}

/** A contract that must be read, because an event left something out. */
export interface ReadRequestTable {
  install: string;
  contractId: string;
  wantedAt: string;
  attempts: Generated<number>;
  nextAttemptAt: string;
  leasedUntil: string | null;
}

export interface MembershipTable extends UnconfirmedColumns {
  id: Generated<number>;
  tool: string;
  groupId: string;
  trainerId: string;
  wanted: number;
  /** Raised whenever `wanted` changes. Decisions for an older generation do not count any more. */
  generation: number;
  state: MembershipState;
  /** The tool's id of the member; null until it is known. */
  memberId: string | null;
  /** An id that was theirs, but whose account now has an address that is not theirs. It is unknown whose it is. */
  doubtedId: string | null;
  /** Whether an intent found the trainer absent before adding them. */
  isOurs: number;
  /** Who decided that the member stays; null until then. Only an operator's release outlasts a new contract. */
  releasedBy: 'operator' | 'retirement' | 'marketplace' | null;
  attempts: number;
  /** When to converge (again); null when wanted and found agree. */
  nextAttemptAt: string | null;
  leaseToken: string | null;
  leasedUntil: string | null;
  /** Whether a call that outlived its lease may have changed what the holder of the lease saw. */
  lookAgain: Generated<number>;
  failure: string | null;
  updatedAt: string;
  /** The install whose brake counts it, and in whose turn it is converged. */
  install: Generated<string>;
  cause: RemovalCause | null;
  /** When the brake is asked about its removal; null if it was asked, or need not be. */
  removeAfter: string | null;
  /**
   * Since when the tool should show what is wanted: when what says so was received, or, for a removal, when it became
   * due; null once the tool showed it. In the future while a grace period runs.
   */
  unmetSince: string | null;
  /** The span of the delivery that decided what is wanted; null if none did, or there is no trace. */
  traceContext: Generated<string | null>;
  /** The generation whose removal the brake cleared or an operator approved. */
  clearedGeneration: number | null;
}

/** The reasons of a membership when it was derived. They tell the end of a contract from a new configuration. */
export interface ReasonTable {
  membershipId: number;
  install: string;
  contractId: string;
  linkId: string;
  /** Whether the install knew the address of the trainer. */
  isNamed: Generated<number>;
}

/** One read of a whole install, and what was done in the tools because of it. */
export interface RunTable {
  id: Generated<number>;
  install: string;
  trigger: RunTrigger;
  beganAt: string;
  /** The last receipt before it. */
  afterReceipt: number;
  /** When everything that was read was evidence; null before that. */
  readAt: string | null;
  endedAt: string | null;
  outcome: RunOutcome | null;
  contracts: Generated<number>;
  added: Generated<number>;
  removed: Generated<number>;
  held: Generated<number>;
  failed: Generated<number>;
  failure: string | null;
}

/** The decisions of operators. */
export interface AuditTable {
  id: Generated<number>;
  at: string;
  actor: string;
  action: string;
  subject: string;
  /** From where: `command line`, or `console` and an address. */
  origin: ColumnType<string, string | undefined, never>;
  /** What the act changed, before and after, as text; null where the subject says all. */
  before: string | null;
  after: string | null;
}

/** What an act by the API was answered with. */
interface KeptAnswerTable {
  id: Generated<number>;
  keyDigest: string;
  requestDigest: string;
  /** Sealed; null while the act is under way. */
  answer: Buffer | null;
  begunAt: string;
}

/** Written before a call that changes a tool, so that the purpose of the call is known after a crash. */
export interface IntentTable {
  id: Generated<number>;
  membershipId: number;
  generation: number;
  operation: ToolOperation;
  /** Whether the look before the call found the member. */
  wasFound: number;
  createdAt: string;
  /** The generated password of the login that the call makes; null when the call is settled. */
  credential: Buffer | null;
}

/** How a member without a login gets in. */
export interface InvitationTable {
  membershipId: number;
  kind: InvitationKind;
  /** Null after it was delivered. */
  content: Buffer | null;
  createdAt: string;
  expiresAt: string | null;
  deliveredAt: string | null;
  deliveredBy: DeliveredBy | null;
  /** Whether a new invitation is to be made. */
  isRenewalWanted: Generated<number>;
  /** Attempts to mail it. */
  attempts: Generated<number>;
  nextAttemptAt: string | null;
  failure: string | null;
}

/** What was done in a tool, and its outcome. It never contains bodies or addresses. */
export interface ReceiptTable {
  id: Generated<number>;
  membershipId: number;
  generation: number;
  operation: ToolOperation;
  outcome: ReceiptOutcome;
  toolStatus: number | null;
  message: string | null;
  createdAt: string;
  /** Milliseconds from when the membership was first wanted so until this; null where it is not so yet, or was so before. */
  metAfterMs: number | null;
}

/** When a contract was first seen to have ended; only if no event gives the time. */
export interface ContractEndTable {
  install: string;
  contractId: string;
  seenAt: string;
}

/** Trainers whose personal data an install does not keep until they have a contract again. */
export interface ForgottenPersonTable {
  install: string;
  trainerId: string;
  forgottenAt: string;
}

export interface NamedLockTable {
  name: string;
  token: string;
  leasedUntil: string;
}

export interface SettingTable {
  name: string;
  value: string;
}

export type DeliveryRow = Selectable<DeliveryTable>;
export type ReasonRow = Selectable<ReasonTable>;
export type MembershipRow = Selectable<MembershipTable>;
export type NewMembershipRow = Insertable<MembershipTable>;
