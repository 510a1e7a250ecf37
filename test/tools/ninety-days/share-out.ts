/**
 * Whose the work is by the rules of docs/usage.md, worked out anew: nothing here is taken from `src`, so that it can
 * disagree with it.
 */

export type Day = string;

export interface Sums {
  seconds: number;
  tasks: number;
  labels: number;
}

/** What a trainer did at one instant, or on one day where the tool does not tell instants. */
export interface Moment {
  trainerId: string;
  day: Day;
  at: string | null;
  seconds: number;
  labels: number;
  /** A task counts once a day for each contract. */
  tasks: readonly string[];
  /** Whether it may be from before the contract. */
  isFirstTotal?: boolean;
}

/** A trainer's contract on one project. */
export interface Term {
  contractId: string;
  trainerId: string;
  startsAt: string;
  endsAt: string | null;
}

export interface Decision {
  trainerId: string;
  day: Day;
  /** Null where the work was discarded. */
  contractId: string | null;
}

export interface Waiting {
  trainerId: string;
  day: Day;
  sums: Sums;
  reason: string;
  isDiscarded: boolean;
}

export interface SharedOut {
  /** By `contract trainer day`. */
  due: Map<string, Sums>;
  waiting: Waiting[];
}

export const nothing: Sums = { seconds: 0, tasks: 0, labels: 0 };

export function shareOut(
  moments: readonly Moment[],
  terms: readonly Term[],
  timeZone: string,
  decisions: readonly Decision[],
): SharedOut {
  const owned = moments.map((moment) => ({ moment, ...ownerOf(moment, terms, timeZone) }));
  const decide = ({ trainerId, day }: Moment) =>
    decisions.find((one) => one.trainerId === trainerId && one.day === day);
  const due = Map.groupBy(
    owned.flatMap(({ moment, contractId }) => {
      const to = contractId ?? decide(moment)?.contractId;
      return to == null ? [] : [{ moment, key: `${to} ${moment.trainerId} ${moment.day}` }];
    }),
    ({ key }) => key,
  );
  const left = owned.filter(({ moment, contractId }) => contractId === null && decide(moment)?.contractId == null);
  const waiting = Map.groupBy(left, ({ moment, reason }) => `${moment.trainerId} ${moment.day} ${reason}`);
  const toSums = (some: readonly { moment: Moment }[]) => sumUp(some.map(({ moment }) => moment));
  return {
    due: new Map([...due].map(([key, some]) => [key, toSums(some)])),
    waiting: [...waiting.values()].flatMap((some) => {
      const [first] = some;
      const sums = toSums(some);
      if (first === undefined || isNothing(sums)) return [];
      const { trainerId, day } = first.moment;
      return [{ trainerId, day, sums, reason: first.reason, isDiscarded: decide(first.moment) !== undefined }];
    }),
  };
}

/** The contract that ran at that instant, or the only one that ran on that day. */
function ownerOf(
  { trainerId, day, at, isFirstTotal }: Moment,
  terms: readonly Term[],
  timeZone: string,
): { contractId: string | null; reason: string } {
  const theirs = terms.filter((one) => one.trainerId === trainerId);
  const ofDay = theirs.filter(
    ({ startsAt, endsAt }) => dayOf(startsAt, timeZone) <= day && (endsAt === null || day <= dayOf(endsAt, timeZone)),
  );
  const ran = ({ startsAt, endsAt }: Term) => at === null || (startsAt <= at && (endsAt === null || at <= endsAt));
  const [only, other] = ofDay.filter(ran);
  if (isFirstTotal) return { contractId: null, reason: 'first_total' };
  if (other !== undefined) return { contractId: null, reason: 'several_contracts' };
  if (only !== undefined) return { contractId: only.contractId, reason: '' };
  const near = ofDay.length > 0 ? ofDay : theirs;
  const isEarly = near.every(({ startsAt }) => (at === null ? day < dayOf(startsAt, timeZone) : at < startsAt));
  return { contractId: null, reason: isEarly ? 'before_start' : 'after_end' };
}

export function sumUp(moments: readonly Moment[]): Sums {
  return {
    seconds: moments.reduce((sum, { seconds }) => sum + seconds, 0),
    tasks: new Set(moments.flatMap(({ tasks }) => tasks)).size,
    labels: moments.reduce((sum, { labels }) => sum + labels, 0),
  };
}

export function add(a: Sums, b: Sums): Sums {
  return { seconds: a.seconds + b.seconds, tasks: a.tasks + b.tasks, labels: a.labels + b.labels };
}

export function isNothing({ seconds, tasks, labels }: Sums): boolean {
  return seconds === 0 && tasks === 0 && labels === 0;
}

export function toText({ seconds, tasks, labels }: Sums): string {
  return `${seconds}/${tasks}/${labels}`;
}

export function dayOf(instant: string, timeZone: string): Day {
  return new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date(instant));
}

export function daysBefore(instant: string, count: number): Day {
  return new Date(Date.parse(instant) - count * 86_400_000).toISOString().slice(0, 10);
}
