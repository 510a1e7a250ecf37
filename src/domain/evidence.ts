/**
 * The readings that looked for something in vain: instants, oldest first, separated by spaces; null if there are none. One
 * absence proves nothing. Two absences, at least 10 minutes apart and with no observation after the first, prove that it is
 * gone.
 *
 * Of each 10 minutes the latest absence is kept, and of those the last three. That is enough to find two that are far enough
 * apart, however often readings happen.
 */
export type Absences = string | null;

const apartMs = 10 * 60_000;
const kept = 3;

export function mergeAbsences(a: Absences, b: Absences): Absences {
  const latest = new Map<number, string>();
  for (const at of [...listAbsences(a), ...listAbsences(b)]) {
    const slot = Math.floor(Date.parse(at) / apartMs);
    const same = latest.get(slot);
    if (same === undefined || same < at) latest.set(slot, at);
  }
  const instants = [...latest.values()].sort().slice(-kept);
  return instants.length === 0 ? null : instants.join(' ');
}

/** @returns the instant of the absence that proves it gone; null if none does */
export function goneSince(absences: Absences, lastSeenAt: string | null): string | null {
  const since = listAbsences(absences).filter((at) => lastSeenAt === null || at > lastSeenAt);
  const [first] = since;
  if (first === undefined) return null;
  return since.find((at) => Date.parse(at) - Date.parse(first) >= apartMs) ?? null;
}

/** Whether there is an absence after the last observation. */
export function isMissed(absences: Absences, lastSeenAt: string | null): boolean {
  return listAbsences(absences).some((at) => lastSeenAt === null || at > lastSeenAt);
}

function listAbsences(absences: Absences): string[] {
  return absences === null ? [] : absences.split(' ');
}

/**
 * Evidence is kept in registers: one row per (install, id), merged by maximum, or by minimum if a register holds the first
 * time of something. Merging is commutative, associative and idempotent, so events and readings may come in any order, any
 * number of times, from any instance. Status is never stored: it is a pure function of the registers. Null is a register
 * that nothing has set.
 */

/** ISO-8601 UTC text. */
export type Instant = string;

export interface ContractEvidence {
  install: string;
  contractId: string;
  /** The latest `contract.started`. */
  startedEventAt: Instant | null;
  /** The latest `contract.ended`. */
  endedEventAt: Instant | null;
  /** When the latest reading that listed it as active began. */
  activeReadAt: Instant | null;
  /** When the latest reading that listed it as ended began. */
  endedReadAt: Instant | null;
  /** When an operator last decided that it has ended, and that it has not. The later decision counts. */
  endedByOperatorAt: Instant | null;
  reopenedAt: Instant | null;
  /** When the latest reading of its participants began. */
  participantsReadAt: Instant | null;
  /** The latest `milestone.*`, after which the budget is read again. */
  budgetEventAt: Instant | null;
  title: string | null;
  titleVersion: string | null;
  /** When work on it begins and ends, if a reading says so. */
  startDate: Instant | null;
  startDateVersion: string | null;
  endDate: Instant | null;
  endDateVersion: string | null;
}

/** A contract, by the install that knows it. */
export type ContractKey = Pick<ContractEvidence, 'install' | 'contractId'>;

/** The target of a link never changes: re-pointing a project deletes one link and creates another. */
export interface LinkEvidence {
  install: string;
  linkId: string;
  /** When `project_link.removed` was received. An event that undoes it may follow. */
  removedEventAt: Instant | null;
  /** The earliest event or list with it. */
  firstSeenAt: Instant | null;
  /** The latest event or list with it. */
  seenAt: Instant | null;
  /** Complete lists without it, each with a 404 for its id while the grant was ACTIVE. */
  absences: Absences;
  /** When the latest complete list of its contracts began. */
  contractsReadAt: Instant | null;
  externalProjectId: string | null;
  externalProjectName: string | null;
  externalProjectUrl: string | null;
  /** The marketplace's word for who adds members. It may change without a new link. */
  provisioningMode: string | null;
  provisioningModeVersion: string | null;
  /** The job it links to, if a reading says so. With it, the link can be created again. */
  jobId: string | null;
}

export interface GrantEvidence {
  install: string;
  grantId: string;
  /** When it was revoked according to the marketplace, and when that was received. */
  revokedEventAt: Instant | null;
  revokedReceivedAt: Instant | null;
  /** When the earliest and the latest reading that was answered ACTIVE began. */
  firstActiveReadAt: Instant | null;
  activeReadAt: Instant | null;
}

/** Comes only from a record that names both the contract and the link. */
export interface PairEvidence {
  install: string;
  contractId: string;
  linkId: string;
  /** The latest record that named both. */
  namedAt: Instant | null;
  /** Readings that listed the active contract on other links, and listed this link too. */
  omissions: Absences;
}

export interface ParticipationEvidence {
  install: string;
  contractId: string;
  trainerId: string;
  seenAt: Instant | null;
  /** Non-empty lists of the contract's participants without this trainer. */
  absences: Absences;
}

/** Addresses are kept per install, because consent is given to one customer. */
export interface PersonEvidence {
  install: string;
  trainerId: string;
  displayName: string | null;
  displayNameVersion: string | null;
  workEmail: string | null;
  workEmailVersion: string | null;
  /** Why the last reading had no address, if the source knows. An earlier address still counts. */
  addressMissing: AddressMissing | null;
  addressMissingVersion: string | null;
}

/**
 * `no_scope`: the token may not read addresses. `refused`: the token may, but the account may not. `no_conversation`: the
 * contract has no conversation yet, which would have the address. `not_shared`: the conversation has no address (yet).
 */
export type AddressMissing = 'no_scope' | 'refused' | 'no_conversation' | 'not_shared';

/** What one event or one reading adds. */
export interface Evidence {
  contracts: ContractEvidence[];
  links: LinkEvidence[];
  grants: GrantEvidence[];
  pairs: PairEvidence[];
  participations: ParticipationEvidence[];
  people: PersonEvidence[];
}

/**
 * Versions order the sources of an attribute: readings beat events, later readings beat earlier ones, and greater event ids
 * beat smaller ones. They compare as text.
 */
export function versionOfRead(beganAt: Instant): string {
  return `1:${beganAt}`;
}

/** @param eventId ids of digits compare as numbers. An event without an id loses to all others */
export function versionOfEvent(eventId: string | null): string {
  if (eventId === null) return '0:';
  if (!/^\d+$/.test(eventId)) return `0:${eventId}`;
  const number = eventId.replace(/^0+/, '');
  // A longer number is greater, so the length comes first.
  return `0:${String(number.length).padStart(3, '0')}:${number}`;
}

/** The column with the version of the source that last set an attribute. */
const versionOf: Record<string, string> = {
  title: 'titleVersion',
  startDate: 'startDateVersion',
  endDate: 'endDateVersion',
  provisioningMode: 'provisioningModeVersion',
  displayName: 'displayNameVersion',
  workEmail: 'workEmailVersion',
  addressMissing: 'addressMissingVersion',
};
const versionColumns = new Set(Object.values(versionOf));
/** Registers that keep the first time of something. */
const firstTimes: ReadonlySet<string> = new Set(['firstSeenAt', 'firstActiveReadAt']);

/** Merges two rows of the same key: every register to its maximum, every attribute to its greatest version. */
export function mergeRegisters<Row extends object>(a: Row, b: Row): Row {
  const left = a as Fields;
  const right = b as Fields;
  const merged: Record<string, unknown> = { ...left };
  for (const name of Object.keys(right)) {
    const version = versionOf[name];
    if (versionColumns.has(name)) continue;
    if (version === undefined) {
      merged[name] = mergeValues(name, left[name], right[name]);
      continue;
    }
    const winner = isNewer(right, left, name, version) ? right : left;
    merged[name] = winner[name];
    merged[version] = winner[version];
  }
  return merged as Row;
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares by version, then by value, so that every instance decides a tie alike. */
function isNewer(a: Fields, b: Fields, name: string, version: string): boolean {
  return isGreater(a[version], b[version]) || (!isGreater(b[version], a[version]) && isGreater(a[name], b[name]));
}

function mergeValues(name: string, a: unknown, b: unknown): unknown {
  if (name === 'absences' || name === 'omissions') return mergeAbsences(a as Absences, b as Absences);
  if (firstTimes.has(name)) return a != null && isGreater(b, a) ? a : (b ?? a);
  return isGreater(b, a) ? b : (a ?? b);
}

/** An unset register is smaller than any text, even the empty one. */
function isGreater(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && (typeof b !== 'string' || a > b);
}

/** A row without evidence. A source sets what it knows. */
export function emptyContract(install: string, contractId: string): ContractEvidence {
  return {
    install,
    contractId,
    startedEventAt: null,
    endedEventAt: null,
    activeReadAt: null,
    endedReadAt: null,
    endedByOperatorAt: null,
    reopenedAt: null,
    participantsReadAt: null,
    budgetEventAt: null,
    title: null,
    titleVersion: null,
    startDate: null,
    startDateVersion: null,
    endDate: null,
    endDateVersion: null,
  };
}

export function emptyLink(install: string, linkId: string): LinkEvidence {
  return {
    install,
    linkId,
    removedEventAt: null,
    firstSeenAt: null,
    seenAt: null,
    absences: null,
    contractsReadAt: null,
    externalProjectId: null,
    externalProjectName: null,
    externalProjectUrl: null,
    provisioningMode: null,
    provisioningModeVersion: null,
    jobId: null,
  };
}

export function toPair(install: string, contractId: string, linkId: string, namedAt: Instant | null): PairEvidence {
  return { install, contractId, linkId, namedAt, omissions: null };
}

export function emptyGrant(install: string, grantId: string): GrantEvidence {
  return {
    install,
    grantId,
    revokedEventAt: null,
    revokedReceivedAt: null,
    firstActiveReadAt: null,
    activeReadAt: null,
  };
}

export function emptyEvidence(): Evidence {
  return { contracts: [], links: [], grants: [], pairs: [], participations: [], people: [] };
}
