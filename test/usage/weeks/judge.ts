import { type CheckedDay, checkUsage } from '../../../src/usage/due/check-usage.ts';
import { recountDue } from '../../../src/usage/due/refresh-due.ts';
import type { Expected, ExpectedHeld } from './attribution.ts';
import { type Counts, dayOf, differs, install, isNothing, keyOf, names, nothing, runsOn } from './facts.ts';
import { isInDoubt, type Told } from './market.ts';
import { nameOfRow } from './steps.ts';
import { noteMoves, nowOf, type Week } from './week.ts';

type Why = NonNullable<CheckedDay['why']>;

/** A day of a trainer on a contract, as the oracle and the marketplace have it. */
interface JudgedDay {
  key: string;
  contract: string;
  day: string;
  due: Counts | undefined;
  /** What the marketplace has. */
  has: Counts;
  told: Told | undefined;
  /** Held work that may be of the contract. */
  held: ExpectedHeld[];
  isDifferent: boolean;
}

/**
 * Compares what `usage check` names with what differs by the oracle.
 *
 * @param isSettled whether nothing is on its way any more, so that all that is left waits for an operator
 */
export async function judge(week: Week, isSettled: boolean): Promise<string[]> {
  const { ctx, market } = week.world;
  const expected = noteMoves(week);
  const rows: CheckedDay[] = [];
  for await (const row of checkUsage(ctx, { installs: [install] })) rows.push(row);
  const byKey = Map.groupBy(rows, ({ contractId, trainerId, day }) => keyOf(contractId, trainerId, day));
  const keys = new Set([...expected.due.keys(), ...market.stored.keys(), ...byKey.keys()]);
  const named = new Set(rows.flatMap(({ why, ...row }) => (why === null ? [] : [keyOfRow(row)])));
  return [
    ...[...keys].flatMap((key) => {
      const isOfNoContract = key.startsWith(' ');
      return isOfNoContract ? [] : judgeDay(week, toJudged(week, expected, key), byKey.get(key) ?? [], isSettled);
    }),
    ...judgeHeld(expected, rows),
    ...judgePaid(week, named),
    ...(await recountDue(ctx)).map(({ trainerId, days }) => `recount mended ${trainerId} ${days}`),
  ];
}

function keyOfRow({ contractId, trainerId, day }: Pick<CheckedDay, 'contractId' | 'trainerId' | 'day'>): string {
  return keyOf(contractId, trainerId, day);
}

function toJudged({ world: { market } }: Week, { due: allDue, held: allHeld }: Expected, key: string): JudgedDay {
  const [contract = '', trainer, day = ''] = key.split(' ');
  const [due, has] = [allDue.get(key), market.stored.get(key) ?? nothing];
  const held = allHeld.filter(
    (one) => one.trainer === trainer && one.day === day && one.contracts.includes(contract) && !isNothing(one.counts),
  );
  const isDifferent = due === undefined ? !isNothing(has) : differs(due, has);
  return { key, contract, day, due, has, told: market.told.get(key), held, isDifferent };
}

function judgeDay(week: Week, one: JudgedDay, rows: CheckedDay[], isSettled: boolean): string[] {
  const { key, due, has, told, held, isDifferent } = one;
  // Held work has a row of its own on days without due or reported work.
  const ids = new Set(rows.map((row) => row.held && row.id));
  if (rows.length > 1 && ids.size < rows.length) return [`${key} is listed ${rows.length} times`];
  const [row] = rows;
  const why = row?.why ?? null;
  const reasons = trueReasons(week, one, isSettled);
  const isListed = held.some(({ state, contracts }) => state !== 'assigned' && contracts.length === 1);
  const isUnnamed = why === null && (isDifferent || isListed || hasUnseen(one));
  const faults = [
    isOther(row?.due, due) && `is due ${show(row?.due)}`,
    !isInDoubt(told) && isOther(row?.answered, has) && `is answered ${show(row?.answered)}`,
    isUnnamed && `is not named: ${[...reasons]}`,
    why !== null && !reasons.has(why) && `is named ${why}, and not ${[...reasons]}`,
  ];
  return faults.flatMap((fault) => (fault === false ? [] : [`${key} ${fault}; due ${show(due)}, has ${show(has)}`]));
}

function isOther(a: Counts = nothing, b: Counts = nothing): boolean {
  return names.some((name) => (a[name] ?? 0) !== (b[name] ?? 0));
}

/** All reasons that would be true of the day. */
function trueReasons(week: Week, one: JudgedDay, isSettled: boolean): Set<Why> {
  const { told, held, isDifferent, due } = one;
  const states = new Set(held.map(({ state }) => state));
  const isRefused = (isDifferent && due !== undefined) || isInDoubt(told);
  const all: (Why | false)[] = [
    isInDoubt(told) && 'in_doubt',
    states.has('held') && 'held',
    states.has('discarded') && 'discarded',
    isRefused && told?.last === 'refused' && 'refused',
    isRefused && told?.last === 'unsent' && 'unsent',
    isDifferent && due === undefined && states.size === 0 && 'unseen',
    hasUnseen(one) && 'unseen',
    ...(isDifferent && due !== undefined ? reasonsOfDue(week, { ...one, due }, isSettled) : []),
  ];
  return new Set(all.filter((reason) => reason !== false));
}

/** Whether the marketplace has a count that no source has any more. */
function hasUnseen({ due, has }: JudgedDay): boolean {
  return due !== undefined && names.some((name) => due[name] === null && has[name]);
}

/** The possible reasons for a day that differs. */
function reasonsOfDue(week: Week, one: JudgedDay & { due: Counts }, isSettled: boolean): (Why | false)[] {
  const { key, contract, day, due, has } = one;
  const isLower = names.some((name) => due[name] !== null && due[name] < (has[name] ?? 0));
  const [isClosed, isDismissed] = [week.closed.has(key), week.dismissed.has(key)];
  const timeZone = week.world.contracts.find(({ id }) => id === contract)?.timeZone ?? 'UTC';
  const hasBegun = day <= dayOf(nowOf(week), 'UTC') && day <= dayOf(nowOf(week), timeZone);
  return [
    !isSettled && isLower && 'lowering_held',
    isClosed && !isDismissed && 'late',
    (isDismissed || week.dismissedEver.get(key) === JSON.stringify(due)) && 'dismissed',
    !hasBegun && 'not_begun',
    !isSettled && hasBegun && !isClosed && isToBeSent(week, one) && 'not_sent',
  ];
}

/** Whether it has become due or sendable only since the last run. A day with held work is not lowered. */
function isToBeSent({ reported, reopened, begunAt }: Week, { key, contract, day, due }: JudgedDay): boolean {
  if (reported === null || reopened.has(key) || day >= begunAt) return true;
  const wasHeld = reported.held.some(
    (one) => one.state === 'held' && one.day === day && one.contracts.includes(contract),
  );
  return wasHeld || JSON.stringify(reported.due.get(key)) !== JSON.stringify(due);
}

/** Held and discarded work of several possible contracts, or of none, has a row of its own. */
function judgeHeld({ held }: Expected, rows: readonly CheckedDay[]): string[] {
  const open = held.filter(({ state, counts }) => state !== 'assigned' && !isNothing(counts));
  const openNames = new Set(open.map(({ name }) => name));
  const listed = new Map(rows.flatMap((row) => (row.held === null ? [] : [[nameOfRow(row.held), row.why] as const])));
  return [
    ...open.flatMap(({ name, state, contracts }) => {
      const isRight = contracts.length === 1 || listed.get(name) === state;
      return isRight ? [] : [`${name} is ${state}, and is listed ${listed.get(name)}`];
    }),
    ...[...listed].flatMap(([name, why]) => {
      return why === null || openNames.has(name) ? [] : [`${name} is listed ${why}`];
    }),
  ];
}

/** Finds work that was paid outside the contract's days, or beyond all that was ever seen, without a reason. */
function judgePaid({ world: { market, contracts }, decisions, most }: Week, named: ReadonlySet<string>): string[] {
  const assigned = new Set(decisions.values());
  const silent = [...market.stored].filter(([key, counts]) => !(named.has(key) || isNothing(counts)));
  const outside = silent.filter(([key]) => {
    const [id = '', , day = ''] = key.split(' ');
    return !(assigned.has(id) || contracts.some((one) => one.id === id && runsOn(one, day)));
  });
  const byTrainer = Map.groupBy(silent, ([key]) => key.split(' ')[1] ?? '');
  const beyond = [...byTrainer].flatMap(([trainer, days]) => {
    const paid = sum(days.map(([, { seconds }]) => seconds ?? 0));
    const all = sum(most.get(trainer)?.values() ?? []);
    return paid > all ? [`${trainer} is paid ${paid} s for ${all} s of work`] : [];
  });
  return [...outside.map(([key, counts]) => `${key} is paid outside the contract: ${show(counts)}`), ...beyond];
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((all, one) => all + one, 0);
}

function show(counts: Counts | undefined): string {
  return counts === undefined ? 'none' : names.map((name) => counts[name] ?? '-').join('/');
}
