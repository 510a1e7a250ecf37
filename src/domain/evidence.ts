/**
 * A register of reads that looked for something and did not find it. One absence proves nothing. Two absences, at least
 * 10 minutes apart and with no observation after the first, prove that it is gone.
 *
 * The register keeps the latest absence of each 10 minutes, and the last three of those. That is enough to find two
 * that are far enough apart, however often reads happen. Merging is commutative, associative and idempotent.
 */

/** Instants, oldest first, separated by spaces. Null when there is no absence. */
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

/** @returns the instant of the absence that proved it gone; null while the absences do not prove it */
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
 * What is known, as registers: one row per (install, id), merged by maximum, or by minimum where a register holds the
 * first time of something. Merging is commutative, associative and idempotent. So events and reads may come in any
 * order, any number of times, from any instance. Status is never stored: it is a pure function of the registers.
 *
 * Instants are ISO-8601 UTC text. Null is a register that nothing has set.
 */

export type Instant = string;

export interface ContractEvidence {
  install: string;
  contractId: string;
  /** The latest `contract.started`. */
  startedEventAt: Instant | null;
  /** The latest `contract.ended`. */
  endedEventAt: Instant | null;
  /** When the latest read that listed it active began. */
  activeReadAt: Instant | null;
  /** When the latest read that listed it ended began. */
  endedReadAt: Instant | null;
  /** When an operator said that it has ended, or that it has not. The later decision counts. */
  endedByOperatorAt: Instant | null;
  reopenedAt: Instant | null;
  /** When the latest read of its participants began. */
  participantsReadAt: Instant | null;
  /** The latest `milestone.*`. After it the budget is read again. */
  budgetEventAt: Instant | null;
  title: string | null;
  titleVersion: string | null;
  /** When work on it begins and ends, as far as a reading says. */
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
  /** The earliest event or listing that had it. */
  firstSeenAt: Instant | null;
  /** The latest event or listing that had it. */
  seenAt: Instant | null;
  /** Complete listings without this link, each with a 404 by its id while the grant was ACTIVE. */
  absences: Absences;
  /** When the latest complete listing of its contracts began. */
  contractsReadAt: Instant | null;
  externalProjectId: string | null;
  externalProjectName: string | null;
  externalProjectUrl: string | null;
  /** Who adds members: the marketplace's mode. The mode may change without a new link. */
  provisioningMode: string | null;
  provisioningModeVersion: string | null;
  /** The job it links to, as far as a reading says. With it the link can be created again. */
  jobId: string | null;
}

export interface GrantEvidence {
  install: string;
  grantId: string;
  /** When the marketplace says it was revoked, and when that was received. */
  revokedEventAt: Instant | null;
  revokedReceivedAt: Instant | null;
  /** When the earliest and the latest read that was answered ACTIVE for it began. */
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
  /** Reads that listed the active contract on other links, and listed the link too. */
  omissions: Absences;
}

export interface ParticipationEvidence {
  install: string;
  contractId: string;
  trainerId: string;
  seenAt: Instant | null;
  /** Non-empty reads of the contract's participants without this trainer. */
  absences: Absences;
}

/** Addresses are kept per install: the consent given to one customer does not count for another. */
export interface PersonEvidence {
  install: string;
  trainerId: string;
  displayName: string | null;
  displayNameVersion: string | null;
  workEmail: string | null;
  workEmailVersion: string | null;
  /** Why the last reading had no address, where the source knows it. An address that is known counts all the same. */
  addressMissing: AddressMissing | null;
  addressMissingVersion: string | null;
}

/**
 * `no_scope`: the token may not read addresses. `refused`: it may, and the account may not. `no_conversation`: the contract has no conversation yet, in which the
 * address is. `not_shared`: the conversation has none of the trainer (yet).
 */
export type AddressMissing = 'no_scope' | 'refused' | 'no_conversation' | 'not_shared';

/** What one event or one read adds. */
export interface Evidence {
  contracts: ContractEvidence[];
  links: LinkEvidence[];
  grants: GrantEvidence[];
  pairs: PairEvidence[];
  participations: ParticipationEvidence[];
  people: PersonEvidence[];
}

/**
 * Orders the sources of an attribute: reads beat events, later reads beat earlier ones, greater event ids beat smaller
 * ones. Versions compare as text.
 */
export function versionOfRead(beganAt: Instant): string {
  return `1:${beganAt}`;
}

/** @param eventId ids of digits compare as numbers; an event without an id loses to all others */
export function versionOfEvent(eventId: string | null): string {
  if (eventId === null) return '0:';
  if (!/^\d+$/.test(eventId)) return `0:${eventId}`;
  const number = eventId.replace(/^0+/, '');
  // The longer number is the greater one, so its length comes first.
  return `0:${String(number.length).padStart(3, '0')}:${number}`;
}

/** Each attribute that changes has a column for the version of the source that set it last. */
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

/**
 * Merges two rows of the same key: every register at its maximum, every attribute from its greatest version.
 * Commutative, associative and idempotent.
 */
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

/** Compares by version, then by value, so that every instance settles a tie between two sources alike. */
function isNewer(a: Fields, b: Fields, name: string, version: string): boolean {
  return isGreater(a[version], b[version]) || (!isGreater(b[version], a[version]) && isGreater(a[name], b[name]));
}

function mergeValues(name: string, a: unknown, b: unknown): unknown {
  if (name === 'absences' || name === 'omissions') return mergeAbsences(a as Absences, b as Absences);
  if (firstTimes.has(name)) return a != null && isGreater(b, a) ? a : (b ?? a);
  return isGreater(b, a) ? b : (a ?? b);
}

/** Compares texts. An unset register is smaller than any text, even the empty one. */
function isGreater(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && (typeof b !== 'string' || a > b);
}

/** A row without knowledge. A source then sets only what it says. */
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
