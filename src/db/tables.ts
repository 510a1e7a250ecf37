import type { Generated, Insertable, Selectable } from 'kysely';
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
import type { IdentityTables } from './identity-tables.ts';
import type {
  ConnectedInstallTable,
  InstallStateTable,
  SubscriptionTable,
  WebhookEndpointTable,
} from './install-tables.ts';
import type { NoticeTables } from './notice-tables.ts';
import type { OperationTables } from './operation-tables.ts';
import type { RemovalTables, UnconfirmedColumns } from './removal-tables.ts';
import type { ResetTables } from './reset-tables.ts';
import type { UsageImportEntryTable, UsageImportTable } from './usage-import-tables.ts';
import type {
  FinalReadingPlaceTable,
  FinalReadingTable,
  UsageDayTable,
  UsageDecisionTable,
  UsageItemTable,
  UsageLedgerTable,
  UsagePersonTable,
  UsagePlaceGroupTable,
  UsagePlaceTable,
  UsageTroubleTable,
} from './usage-tables.ts';

/**
 * The database as Kysely sees it. Instants are ISO-8601 UTC text; booleans are 0 and 1 and sealed
 * values are bytes on both databases. Evidence tables hold the registers of `domain/evidence.ts`
 * as they are.
 */
export interface Tables
  extends BudgetTables,
    IdentityTables,
    NoticeTables,
    OperationTables,
    RemovalTables,
    ResetTables {
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
  installState: InstallStateTable;
  connectedInstall: ConnectedInstallTable;
  webhookEndpoint: WebhookEndpointTable;
  subscription: SubscriptionTable;
  run: RunTable;
  audit: AuditTable;
  contractEnd: ContractEndTable;
  forgottenPerson: ForgottenPersonTable;
  usagePlace: UsagePlaceTable;
  usagePlaceGroup: UsagePlaceGroupTable;
  usagePerson: UsagePersonTable;
  usageItem: UsageItemTable;
  usageDay: UsageDayTable;
  usageLedger: UsageLedgerTable;
  usageDecision: UsageDecisionTable;
  usageTrouble: UsageTroubleTable;
  finalReading: FinalReadingTable;
  finalReadingPlace: FinalReadingPlaceTable;
  namedLock: NamedLockTable;
  setting: SettingTable;
  usageImport: UsageImportTable;
  usageImportEntry: UsageImportEntryTable;
}

export interface DeliveryTable {
  id: Generated<number>;
  install: string;
  bodySha256: Buffer;
  deliveryId: string | null;
  eventType: string | null;
  receivedAt: string;
  state: DeliveryState;
  attempts: Generated<number>;
  /** When to look at it (again); null when there is nothing left to do. */
  nextAttemptAt: string | null;
  /** Why it is not handled, in a few words. */
  failure: string | null;
  /** Which version of the event reader judged it. */
  readerVersion: number;
  headers: string;
  /** Empty where it was not kept: nothing that is sealed is. */
  body: Buffer;
}

/** How much an install has stored: the sum of its parts. */
export interface InstallStorageTable {
  install: string;
  part: number;
  bytes: number;
}

/** As `PersonEvidence`, but the address is sealed and found by its digest. */
export interface PersonTable extends Omit<PersonEvidence, 'workEmail'> {
  workEmail: Buffer | null;
  workEmailDigest: string | null;
  /** In the clear, and lower case: it names no person. */
  workEmailDomain: string | null;
}

/** Trainers whose memberships are still to be derived from the evidence, as they were queued. */
export interface DerivationTable {
  /** Counts up. */
  arrival: Generated<number>;
  /** On whose word. */
  install: Generated<string>;
  trainerId: string;
  /** When evidence about them came in last; empty where it is not for that that they wait. */
  evidenceAt: Generated<string>;
}

/** A contract about which an event left something to be asked of the marketplace. */
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
  /** Raised whenever `wanted` changes: what was decided for an older one no longer counts. */
  generation: number;
  state: MembershipState;
  /** The tool's own id for the member, once known. */
  memberId: string | null;
  /** One that was theirs, and by now shows an address that is none of theirs: nobody knows whose it is. */
  doubtedId: string | null;
  /** Whether an intent found the person absent before adding them. */
  isOurs: number;
  attempts: number;
  /** When to converge (again); null when wanted and found agree. */
  nextAttemptAt: string | null;
  leaseToken: string | null;
  leasedUntil: string | null;
  /** Whether a call that outlived its lease may have changed what the holder of the lease saw. */
  lookAgain: Generated<number>;
  failure: string | null;
  updatedAt: string;
  /** Whose brake counts it, and whose turn it is that it is worked on in. */
  install: Generated<string>;
  cause: RemovalCause | null;
  /** When the brake is to be asked about its removal; null when it has been, or need not be. */
  removeAfter: string | null;
  /** The generation whose removal the brake let pass, or an operator approved. */
  clearedGeneration: number | null;
}

/** Whatever was a reason for a membership when it was derived: to tell an end from a new configuration. */
export interface ReasonTable {
  membershipId: number;
  install: string;
  contractId: string;
  linkId: string;
  /** Whether the install knew the address that the membership was for. */
  isNamed: Generated<number>;
}

/** One reading of a whole install, and what was done in the tools while it was under way. */
export interface RunTable {
  id: Generated<number>;
  install: string;
  trigger: RunTrigger;
  beganAt: string;
  /** The last receipt before it. */
  afterReceipt: number;
  /** When all that was read had been added as evidence; null before that. */
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

/** What operators have decided, and who. */
export interface AuditTable {
  id: Generated<number>;
  at: string;
  actor: string;
  action: string;
  subject: string;
}

/** Written before a call that changes a tool, so that a crash leaves a trace of what was meant. */
export interface IntentTable {
  id: Generated<number>;
  membershipId: number;
  generation: number;
  operation: ToolOperation;
  /** What the look before the call found. */
  wasFound: number;
  createdAt: string;
  /** A password that was made up for the login that adding them makes; gone once that is settled. */
  credential: Buffer | null;
}

/** How a member gets in who has no login yet. */
export interface InvitationTable {
  membershipId: number;
  kind: InvitationKind;
  /** Gone once they were told. */
  content: Buffer | null;
  createdAt: string;
  expiresAt: string | null;
  deliveredAt: string | null;
  deliveredBy: DeliveredBy | null;
  /** Whether they are to have another. */
  isRenewalWanted: Generated<number>;
  /** Of mailing it. */
  attempts: Generated<number>;
  nextAttemptAt: string | null;
  failure: string | null;
}

/** What was done in a tool and what came of it; never bodies, never addresses. */
export interface ReceiptTable {
  id: Generated<number>;
  membershipId: number;
  generation: number;
  operation: ToolOperation;
  outcome: ReceiptOutcome;
  toolStatus: number | null;
  message: string | null;
  createdAt: string;
}

/** When a contract was first seen to have ended; only where no event gives the time. */
export interface ContractEndTable {
  install: string;
  contractId: string;
  seenAt: string;
}

/** Trainers of whom an install keeps nothing personal, until they have a contract there again. */
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
