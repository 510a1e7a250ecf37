import type { JournalRow } from './chain.ts';
import { type InstallReading, type Period, type Reading, readingOf } from './install-reading.ts';

/** Who could get into which project when, as it follows from the rows of the journal. Pure. */
export interface AccessHistory {
  stretches: AccessStretch[];
  acts: CertifiedAct[];
  installs: InstallReading[];
}

/** A time in which a trainer could get into a project of a tool. */
export interface AccessStretch {
  membership: number;
  tool: string;
  group: string;
  trainer: string;
  /** When it was known that they could. */
  from: string;
  /** When it was known that they no longer could; null if they still can at the end of the period. */
  until: string | null;
  /** The contracts that had given a reason by then, each with its install. */
  contracts: { install: string; contract: string }[];
  /** Whether Gangway added them; otherwise they were members before. */
  isOurs: boolean;
  /** Why they were to go; null while they were not. */
  cause: string | null;
  /** Milliseconds from when they were to be out until they were; null where they are in, or that is not known. */
  lockOutMs: number | null;
  /** The rows with acts of operators about this membership, its plans and its contracts. */
  acts: number[];
  /** Whether all installs whose contracts gave the reason were read as a whole. */
  isCertified: boolean;
}

/** An act of an operator in the period. */
export interface CertifiedAct {
  row: number;
  at: string;
  actor: string;
  action: string;
  subject: string;
}

/** What the rows up to one have said. */
export interface KnownByRows {
  open: Map<number, Stretch>;
  closed: Stretch[];
  /** By membership. */
  contracts: Map<number, KnownContract[]>;
  plans: Map<number, Set<string>>;
  acts: CertifiedAct[];
  /** By install, then by the number of the run. */
  readings: Map<string, Map<string, Reading>>;
}

type Stretch = Omit<AccessStretch, 'contracts' | 'acts' | 'isCertified'> & { row: number };
type KnownContract = AccessStretch['contracts'][number] & { at: string };
type Fact = Readonly<Record<string, string | number | null>>;
type Key = readonly (string | number)[];

export function nothingKnown(): KnownByRows {
  return {
    open: new Map(),
    closed: [],
    contracts: new Map(),
    plans: new Map(),
    acts: [],
    readings: new Map(),
  };
}

/** Adds what a row says. Every row must be added, from the first one of the chain. */
export function addRow(known: KnownByRows, row: JournalRow): void {
  if (row.fact === null) return;
  adders[row.subject]?.(known, row, JSON.parse(row.key) as Key, JSON.parse(row.fact) as Fact);
}

const adders: Record<string, (known: KnownByRows, row: JournalRow, key: Key, fact: Fact) => void> = {
  membership: addMembership,
  reason({ contracts }, { at }, [id, install, contract]) {
    const known = contracts.get(Number(id)) ?? [];
    contracts.set(Number(id), [...known, { install: String(install), contract: String(contract), at }]);
  },
  plan_item({ plans }, _row, [plan, id]) {
    plans.set(Number(id), (plans.get(Number(id)) ?? new Set()).add(`plan ${plan}`));
  },
  // It is written in the transaction that settles the membership, before or after that.
  receipt({ open, closed }, _row, _key, { membership_id: id, operation, met_after_ms: lockOutMs }) {
    if (operation !== 'remove' || lockOutMs == null) return;
    const last = open.get(Number(id)) ?? closed.findLast(({ membership }) => membership === Number(id));
    if (last !== undefined) last.lockOutMs = Number(lockOutMs);
  },
  audit({ acts }, { seq, at }, _key, { actor, action, subject }) {
    acts.push({ row: seq, at, actor: String(actor), action: String(action), subject: String(subject) });
  },
  run({ readings }, _row, [id], { install, began_at: beganAt, read_at: readAt, ended_at: endedAt }) {
    const known = readings.get(String(install)) ?? new Map<string, Reading>();
    readings.set(String(install), known);
    if (readAt !== null || endedAt !== null) {
      known.set(String(id), { beganAt: String(beganAt), isWhole: readAt !== null });
    }
  },
};

function addMembership({ open, closed }: KnownByRows, { seq, at }: JournalRow, [key]: Key, fact: Fact): void {
  const id = Number(key);
  const before = open.get(id);
  if (!couldGetIn(fact)) {
    if (before !== undefined) closed.push({ ...before, until: at });
    open.delete(id);
    return;
  }
  const stillSaid = fact['wanted'] === 1 ? null : (before?.cause ?? null);
  open.set(id, {
    row: before?.row ?? seq,
    membership: id,
    tool: String(fact['tool']),
    group: String(fact['group_id']),
    trainer: String(fact['trainer_id']),
    from: before?.from ?? at,
    until: null,
    isOurs: fact['is_ours'] === 1,
    cause: (fact['cause'] as string | null) ?? stillSaid,
    lockOutMs: before?.lockOutMs ?? null,
  });
}

/** States in which a trainer is in the tool, or may be. */
const inTool: ReadonlySet<unknown> = new Set(['invited', 'active', 'removing', 'held', 'released', 'orphaned']);

/** A call whose answer was lost may have let them in. */
function couldGetIn({ state, has_member: hasMember, late_until: lateUntil }: Fact): boolean {
  return state !== 'removed' && (hasMember === 1 || lateUntil !== null || inTool.has(state));
}

export function historyOf(known: KnownByRows, period: Period): AccessHistory {
  const within = [...known.closed, ...known.open.values()]
    .filter(({ from, until }) => from <= period.to && (until === null || until >= period.from))
    .sort((a, b) => a.row - b.row);
  const named = within.flatMap(({ membership }) => known.contracts.get(membership) ?? []);
  const names = new Set([...known.readings.keys(), ...named.map(({ install }) => install)]);
  const installs = [...names]
    .sort()
    .map((install) => readingOf(install, [...(known.readings.get(install)?.values() ?? [])], period));
  const certified = new Set(installs.flatMap(({ install, isCertified }) => (isCertified ? [install] : [])));
  return {
    stretches: within.map((stretch) => toStretch(known, stretch, period, certified)),
    acts: known.acts.filter(({ at }) => at >= period.from && at <= period.to),
    installs,
  };
}

function toStretch(
  { contracts, plans, acts }: KnownByRows,
  { row: _, ...stretch }: Stretch,
  period: Period,
  certified: ReadonlySet<string>,
): AccessStretch {
  const { membership, until } = stretch;
  const end = until ?? period.to;
  const reasons = (contracts.get(membership) ?? []).filter(({ at }) => at <= end);
  const abouts = new Set([
    `membership ${membership}`,
    `the account in doubt of membership ${membership}`,
    ...(plans.get(membership) ?? []),
    ...reasons.map(({ install, contract }) => `${install}/${contract}`),
  ]);
  // The subject of a decision about a part of a plan goes on after its number.
  const isAbout = ({ subject }: CertifiedAct) => abouts.has(subject.replace(/^(plan \d+)\b.*/, '$1'));
  const distinct = new Map(reasons.map(({ at: _, ...reason }) => [JSON.stringify(reason), reason]));
  return {
    ...stretch,
    contracts: [...distinct.values()],
    acts: acts.filter((act) => act.at <= end && isAbout(act)).map(({ row }) => row),
    isCertified: reasons.every(({ install }) => certified.has(install)),
  };
}
