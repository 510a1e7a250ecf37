import { type Counts, dayOf, highest, nothing, type Project, plus, shiftDay, zeroed } from './facts.ts';
import type { Piece, Shown } from './tools.ts';

/**
 * What the readings of the tools amount to, by the rules of docs/usage.md. A piece counts where it was done and where
 * it grew; absence is no zero; what a removal began with is never lowered.
 */

/** The work of one instant. */
export interface Moment {
  at: string;
  task: string | null;
  seconds: number;
  labels: number;
}

interface KnownPiece {
  task: string;
  doneAt: string;
  doneDay: string;
  labels: number;
  grown: { day: string; at: string; seconds: number }[];
}

export interface KnownDay {
  counts: Counts;
  /** Whether a removal has begun since: the day may rise, but is not lowered. */
  isFrozen: boolean;
  /** Whether a part was deleted since that removal began. */
  isTorn: boolean;
}

/** A trainer's work in a project. */
export interface KnownWork {
  pieces: Map<string, KnownPiece>;
  days: Map<string, KnownDay>;
  totals: KnownTotals | null;
  /** Of the membership at its last reading. */
  generation: number | null;
}

interface KnownTotals {
  /** The day of the last reading, and what was counted before it. */
  day: string;
  before: number;
  /** The first total, if it may be from before the contract. */
  first: { day: string; tasks: number } | null;
}

/** A member at the time of a reading. */
export interface SeenMember {
  trainer: string;
  generation: number;
  /** Whether they are wanted, and in. */
  isIn: boolean;
  /** How much of their first total is not counted, and how much of that is held. */
  begin: { before: number; first: { day: string; tasks: number } | null };
}

export interface ReadingFact {
  beganMs: number;
  timeZone: string;
  lookbackDays: number;
  keepsDeleted: boolean;
}

export type Memory = Map<string, KnownWork>;

function workKeyOf(project: Project, trainer: string): string {
  return `${project} ${trainer}`;
}

export function workOfKey(key: string): { project: Project; trainer: string } {
  const [project, trainer = ''] = key.split(' ');
  return { project: project as Project, trainer };
}

export function absorb(memory: Memory, shown: Shown, members: readonly SeenMember[], fact: ReadingFact): void {
  for (const member of members) {
    const key = workKeyOf(shown.project, member.trainer);
    const known = memory.get(key);
    if (isConcerned(shown, member.trainer, known)) memory.set(key, absorbMember(known, shown, member, fact));
  }
}

function absorbMember(known: KnownWork | undefined, shown: Shown, member: SeenMember, fact: ReadingFact): KnownWork {
  const { trainer, generation, isIn } = member;
  const work = known ?? { pieces: new Map(), days: new Map(), totals: null, generation };
  const hasEnded = work.generation !== generation;
  if (hasEnded) for (const day of work.days.values()) day.isFrozen = true;
  work.generation = generation;
  const lowers = shown.request.changedSince === null && isIn && !hasEnded;
  const reading = { ...fact, lowers, today: dayOf(fact.beganMs, fact.timeZone) };
  if (shown.project === 'pieces') absorbPieces(work, shown, trainer, reading);
  if (shown.project === 'days') absorbDays(work, shown, trainer, reading);
  if (shown.project === 'totals') absorbTotal(work, shown, member, reading);
  return work;
}

function isConcerned({ request, pieces, days, totals }: Shown, trainer: string, known: KnownWork | undefined): boolean {
  const isShown = [...pieces, ...days, ...totals].some((one) => one.trainer === trainer);
  return isShown || (request.changedSince === null && known !== undefined);
}

interface Reading extends ReadingFact {
  lowers: boolean;
  today: string;
}

/** The first days that are reported again, and read again. */
export function firstOpenDay(nowMs: number, lookbackDays: number): string {
  return shiftDay(new Date(nowMs).toISOString().slice(0, 10), -lookbackDays);
}

function firstReadDay({ beganMs, lookbackDays }: ReadingFact): string {
  return firstOpenDay(beganMs, lookbackDays + 2);
}

function absorbPieces(work: KnownWork, shown: Shown, trainer: string, reading: Reading): void {
  const theirs = shown.pieces.filter((one) => one.trainer === trainer);
  const touched = new Set<string>();
  const torn = new Set<string>();
  for (const piece of theirs) {
    const known = work.pieces.get(piece.id);
    for (const day of daysOf(known)) touched.add(day);
    if (known === undefined) addPiece(work, piece, reading);
    else for (const day of changePiece(known, piece, reading)) torn.add(day);
    for (const day of daysOf(work.pieces.get(piece.id))) touched.add(day);
  }
  const dropped = reading.lowers ? dropPieces(work, shown, reading) : [];
  for (const day of dropped) {
    torn.add(day);
    touched.add(day);
  }
  const first = firstReadDay(reading);
  settleDays(work, sumPieces(work.pieces), reading, torn, (day) => day >= first || touched.has(day));
}

/** Removes deleted pieces, unless their task is gone too. @returns the days on which they counted */
function dropPieces(work: KnownWork, shown: Shown, reading: Reading): string[] {
  const present = new Set(shown.pieces.map(({ id }) => id));
  const first = firstReadDay(reading);
  const isKept = (id: string, { task, doneDay }: KnownPiece) =>
    present.has(id) || doneDay < first || (reading.keepsDeleted && !shown.tasks.has(task));
  return [...work.pieces].flatMap(([id, piece]) => {
    if (isKept(id, piece)) return [];
    work.pieces.delete(id);
    return daysOf(piece);
  });
}

function settleDays(
  work: KnownWork,
  counted: ReadonlyMap<string, Counts>,
  reading: Reading,
  torn: ReadonlySet<string>,
  isConcernedDay: (day: string) => boolean,
): void {
  for (const day of new Set([...work.days.keys(), ...counted.keys()])) {
    const unseen = reading.lowers ? zeroed(countedDay(work, day)) : null;
    if (isConcernedDay(day)) settleDay(work, day, counted.get(day) ?? unseen, reading, torn);
  }
}

function countedDay(work: KnownWork, day: string): Counts {
  return work.days.get(day)?.counts ?? nothing;
}

function daysOf(piece: KnownPiece | undefined): string[] {
  return piece === undefined ? [] : [piece.doneDay, ...piece.grown.map(({ day }) => day)];
}

function addPiece(work: KnownWork, piece: Piece, { timeZone }: Reading): void {
  const grown = [{ day: dayOf(piece.changedAt, timeZone), at: piece.changedAt, seconds: piece.seconds }];
  work.pieces.set(piece.id, {
    task: piece.task,
    doneAt: piece.doneAt,
    doneDay: dayOf(piece.doneAt, timeZone),
    labels: piece.labels,
    grown: piece.seconds > 0 ? grown : [],
  });
}

/** @returns the days that became less */
function changePiece(known: KnownPiece, piece: Piece, reading: Reading): string[] {
  const torn: string[] = [];
  if (piece.labels < known.labels && reading.lowers) torn.push(known.doneDay);
  known.labels = reading.lowers ? piece.labels : Math.max(known.labels, piece.labels);
  const before = known.grown.reduce((sum, { seconds }) => sum + seconds, 0);
  const more = piece.seconds - before;
  if (more > 0)
    grow(known, { day: dayOf(piece.changedAt, reading.timeZone), at: piece.changedAt, seconds: more }, reading);
  if (more < 0 && reading.lowers) torn.push(...shrink(known, -more));
  return torn;
}

/** A piece whose days are all closed grows on its last day. */
function grow(known: KnownPiece, growth: KnownPiece['grown'][number], { beganMs, lookbackDays }: Reading): void {
  const counted = [{ day: known.doneDay, at: known.doneAt }, ...known.grown];
  const last = counted.reduce((a, b) => (`${a.day} ${a.at}` < `${b.day} ${b.at}` ? b : a));
  const isClosed = last.day < firstOpenDay(beganMs, lookbackDays);
  const booked = isClosed ? { ...growth, day: last.day, at: last.at } : growth;
  const same = known.grown.find((one) => one.day === booked.day && one.at === booked.at);
  if (same === undefined) known.grown.push(booked);
  else same.seconds += booked.seconds;
  known.grown.sort((a, b) => (`${a.day} ${a.at}` < `${b.day} ${b.at}` ? -1 : 1));
}

function shrink(known: KnownPiece, seconds: number): string[] {
  const torn: string[] = [];
  for (let left = seconds; left > 0; ) {
    const last = known.grown.at(-1);
    if (last === undefined) break;
    const taken = Math.min(left, last.seconds);
    last.seconds -= taken;
    left -= taken;
    torn.push(last.day);
    if (last.seconds === 0) known.grown.pop();
  }
  return torn;
}

function sumPieces(pieces: KnownWork['pieces']): Map<string, Counts> {
  const days = new Map<string, Counts>();
  const add = (day: string, counts: Partial<Counts>) => {
    const zeros = { seconds: 0, tasks: 0, labels: 0 };
    days.set(day, plus(days.get(day) ?? zeros, { ...zeros, ...counts }));
  };
  const tasks = new Set<string>();
  for (const { doneDay, task, labels, grown } of pieces.values()) {
    const isFirst = !tasks.has(`${doneDay} ${task}`);
    tasks.add(`${doneDay} ${task}`);
    add(doneDay, { labels, tasks: isFirst ? 1 : 0 });
    for (const { day, seconds } of grown) add(day, { seconds });
  }
  return days;
}

/** @param counted null if the reading has nothing of the day */
function settleDay(
  work: KnownWork,
  day: string,
  counted: Counts | null,
  { lowers }: Reading,
  torn: ReadonlySet<string>,
): void {
  const known = work.days.get(day) ?? { counts: nothing, isFrozen: false, isTorn: false };
  const mayLower = lowers && !known.isFrozen;
  const counts = mayLower ? (counted ?? known.counts) : highest(known.counts, counted ?? nothing);
  const isTorn = known.isTorn || (known.isFrozen && torn.has(day));
  work.days.set(day, { ...known, counts, isTorn });
}

function absorbDays(work: KnownWork, shown: Shown, trainer: string, reading: Reading): void {
  const counted = new Map<string, Counts>();
  for (const one of shown.days) {
    if (one.trainer === trainer) counted.set(one.day, { ...nothing, seconds: one.seconds });
  }
  const first = firstReadDay(reading);
  settleDays(work, counted, reading, new Set(), (day) => day >= first);
}

function absorbTotal(work: KnownWork, shown: Shown, { trainer, begin }: SeenMember, reading: Reading): void {
  const total = shown.totals.find((one) => one.trainer === trainer)?.tasks;
  if (total === undefined) return;
  const { today } = reading;
  work.totals ??= { day: today, ...begin };
  const { totals } = work;
  if (today > totals.day) {
    totals.before += work.days.get(totals.day)?.counts.tasks ?? 0;
    totals.day = today;
  }
  settleDay(work, totals.day, { ...nothing, tasks: Math.max(0, total - totals.before) }, reading, new Set());
}

/** The moments of a day, if the tool lists pieces. */
export function momentsOf(pieces: KnownWork['pieces'], day: string): Moment[] {
  return [...pieces.values()].flatMap(({ task, doneAt, doneDay, labels, grown }) => [
    ...(doneDay === day ? [{ at: doneAt, task, seconds: 0, labels }] : []),
    ...grown.flatMap((one) => (one.day === day ? [{ at: one.at, task: null, seconds: one.seconds, labels: 0 }] : [])),
  ]);
}
