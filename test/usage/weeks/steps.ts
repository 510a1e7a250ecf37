import { AppError } from '../../../src/domain/errors.ts';
import { emptyContract, versionOfRead } from '../../../src/domain/evidence.ts';
import { decideHeld, decideLate, listLate, takeBackDecision } from '../../../src/usage/due/decide-held.ts';
import { type HeldRow, listHeld } from '../../../src/usage/due/held-store.ts';
import { refreshDue } from '../../../src/usage/due/refresh-due.ts';
import { countImport, type PreparedImport, prepareImport, undoImport } from '../../../src/usage/import/import-file.ts';
import { reportUsage } from '../../../src/usage/report/report-usage.ts';
import { type Expected, toWorkName } from './attribution.ts';
import {
  type ContractFact,
  type Counts,
  dayOf,
  type Edge,
  firstDayOf,
  install,
  keyOf,
  mapCounts,
  names,
  nothing,
  plus,
  projects,
  shiftDay,
  toIso,
  trainers,
} from './facts.ts';
import { fates, isInDoubt } from './market.ts';
import type { Step, StepName } from './plan.ts';
import type { ImportLine } from './seen.ts';
import { absorbShown, begunBy, expect, noteMost, noteMoves, nowOf, reopen, type Week } from './week.ts';
import { by, hireEvidence, readAll, signal, toInstantOf } from './world.ts';

/** What each step does. It does nothing if it has no object. */

const hourMs = 3_600_000;

type Act = (week: Week, step: Step) => Promise<void> | void;

const acts: Record<StepName, Act> = {
  hours(week, { a }) {
    week.world.market.arrive();
    week.world.clock.advance(Math.ceil((1 + a * 40) * hourMs));
  },
  arrive(week, { a }) {
    if (a < 0.5) week.world.clock.advance(Math.ceil(a * 8 * 60_000));
    else week.world.market.arrive();
  },
  hire,
  end,
  redate,
  piece,
  edit,
  erase,
  day,
  total,
  async read(week, { a, b }) {
    await read(week, { isComplete: a < 0.4, breaksOff: b < 0.08 });
  },
  async report(week, { a, b, c }) {
    if (a < 0.3)
      week.world.market.fates = [b, c, (b + c) % 1].map((one) => fates[Math.floor(one * 12)]).filter(isThere);
    await report(week, c < 0.3);
  },
  soon,
  import: importLines,
  undo,
  decide,
  late,
  refuse({ world: { market, contracts } }, { a, b }) {
    const keys = [...market.stored.keys(), ...contracts.map(({ id }) => id)];
    const [contract = '', , refusedDay] = (pick(keys, a) ?? '').split(' ');
    if (contract !== '')
      market.refused.add(refusedDay === undefined || b < 0.1 ? contract : `${contract} ${refusedDay}`);
  },
  allow({ world: { market } }, { a }) {
    const refused = pick([...market.refused], a);
    if (refused !== undefined) market.refused.delete(refused);
  },
};

export async function take(week: Week, step: Step): Promise<void> {
  await acts[step.does](week, step);
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[Math.floor(at * list.length)];
}

/** Another random number from that of a step. */
function more(number: number): number {
  return (number * 7919) % 1;
}

async function hire(week: Week, { a, b, c }: Step): Promise<void> {
  const { world } = week;
  const project = pick(projects, a < 0.5 ? 0 : more(a)) ?? 'pieces';
  const trainer = pick(trainers, more(more(a))) ?? 'amara';
  const at = toIso(nowOf(week) + Math.round((b * 40 - 30) * hourMs));
  const timeZone = world.plan.zones[project];
  const start: Edge = c < 0.7 ? { at } : { day: dayOf(at, timeZone) };
  const contract: ContractFact = { id: `c${world.contracts.length + 1}`, trainer, project, timeZone, start, end: null };
  week.log(`hire ${JSON.stringify(contract)}`);
  world.contracts.push(contract);
  await world.merge(hireEvidence(contract, toIso(nowOf(week))));
}

/** Announced by an event now or later, with or without its time, by a reading with only a day, or not at all. */
async function end(week: Week, { a, b, c }: Step): Promise<void> {
  const { world } = week;
  const now = nowOf(week);
  const open = world.contracts.filter(
    ({ end: ended, start }) => ended === null && Date.parse(toInstantOf(start)) < now,
  );
  const contract = pick(open, a);
  if (contract === undefined) return;
  const lateMs = b < 0.5 ? 0 : Math.round((b - 0.5) * 60 * hourMs);
  const endedMs = Math.max(now - lateMs, Date.parse(toInstantOf(contract.start)) + 1000);
  const evidence = { ...emptyContract(install, contract.id) };
  const version = { endDateVersion: versionOfRead(toIso(now)) };
  if (c < 0.4) {
    contract.end = { at: toIso(endedMs) };
    Object.assign(evidence, { endedEventAt: toIso(endedMs) });
  } else if (c < 0.6) {
    contract.end = { at: toIso(endedMs) };
    Object.assign(evidence, { endedEventAt: toIso(endedMs + 30_000), endDate: toIso(endedMs), ...version });
  } else if (c < 0.8) {
    const lastDay = dayOf(endedMs, contract.timeZone);
    contract.end = { day: lastDay < firstDayOf(contract) ? firstDayOf(contract) : lastDay };
    Object.assign(evidence, { endedReadAt: toIso(now), endDate: toInstantOf(contract.end), ...version });
  } else {
    contract.end = { at: toIso(endedMs) };
    Object.assign(evidence, { endedReadAt: toIso(now), activeReadAt: toIso(endedMs) });
  }
  week.log(`end ${contract.id} ${JSON.stringify(contract.end)}`);
  await world.merge({ contracts: [evidence] });
}

/** A later reading says that a contract began earlier or later. */
async function redate(week: Week, { a, b }: Step): Promise<void> {
  const { world } = week;
  const contract = pick(world.contracts, a);
  if (contract === undefined) return;
  const at = toIso(Date.parse(toInstantOf(contract.start)) + Math.round((b - 0.5) * 48 * hourMs));
  const startsBeforeEnd = contract.end === null || at < toInstantOf(contract.end);
  if (!startsBeforeEnd) return;
  contract.start = { at };
  week.log(`redate ${contract.id} ${at}`);
  const startDateVersion = versionOfRead(toIso(nowOf(week)));
  await world.merge({ contracts: [{ ...emptyContract(install, contract.id), startDate: at, startDateVersion }] });
}

function piece(week: Week, { a, b, c }: Step): void {
  const { tools } = week.world;
  const trainer = pick(trainers, a) ?? 'amara';
  const at = toIso(nowOf(week) - Math.round(c * c * 10 * hourMs));
  const seconds = b > 0.97 ? 50_000 : Math.round(60 + b * 9000);
  week.pieces += 1;
  const id = `p${week.pieces}`;
  // Some tasks have several pieces.
  const shared =
    more(c) < 0.15
      ? pick(
          [...tools.pieces.values()].filter((one) => one.trainer === trainer),
          b,
        )
      : undefined;
  const task = shared?.task ?? `task-${id}`;
  const of = { id, trainer, task, doneAt: at, changedAt: at };
  noteMost(week, trainer, id, seconds);
  tools.pieces.set(id, { ...of, seconds, labels: Math.round(more(b) * 9) });
  tools.tasks.add(task);
  tools.accounts.add(`studio ${trainer}`);
  week.log(`piece ${id} of ${task} ${trainer} ${at} ${seconds}`);
}

function edit(week: Week, { a, b, c }: Step): void {
  const found = pick([...week.world.tools.pieces.values()], a);
  if (found === undefined) return;
  if (b < 0.7) found.seconds += Math.round(10 + b * 3000);
  else if (b < 0.9) found.seconds = Math.round(found.seconds * c);
  noteMost(week, found.trainer, found.id, found.seconds);
  found.labels = c < 0.3 ? Math.round(more(c) * 9) : found.labels;
  found.changedAt = toIso(nowOf(week));
  week.log(`edit ${found.id} ${found.changedAt} ${found.seconds} ${found.labels}`);
}

function erase(week: Week, { a, c }: Step): void {
  const { pieces, tasks } = week.world.tools;
  const found = pick([...pieces.values()], a);
  if (found === undefined) return;
  pieces.delete(found.id);
  if (c < 0.4) tasks.delete(found.task);
  week.log(`erase ${found.id}${c < 0.4 ? ' with its task' : ''}`);
}

function day(week: Week, { a, b, c }: Step): void {
  const { tools, plan } = week.world;
  const trainer = pick(trainers, a) ?? 'amara';
  const today = dayOf(nowOf(week), plan.zones.days);
  const worked = c < 0.7 ? today : shiftDay(today, -Math.floor((c - 0.7) * 30));
  const days = tools.days.get(trainer) ?? new Map<string, number>();
  const before = days.get(worked) ?? 0;
  const seconds = b < 0.8 ? before + Math.round(60 + b * 12_000) : Math.round(before * more(b));
  noteMost(week, trainer, worked, seconds);
  tools.days.set(trainer, days.set(worked, seconds));
  tools.accounts.add(`tally ${trainer}`);
  week.log(`day ${trainer} ${worked} ${seconds}`);
}

function total(week: Week, { a, b }: Step): void {
  const { tools } = week.world;
  const trainer = pick(trainers, a) ?? 'amara';
  const before = tools.totals.get(trainer) ?? 0;
  tools.totals.set(trainer, b < 0.9 ? before + Math.round(1 + b * 40) : Math.round(before * more(b)));
  tools.accounts.add(`meter ${trainer}`);
  week.log(`total ${trainer} ${tools.totals.get(trainer)}`);
}

export async function read(week: Week, { isComplete, breaksOff }: { isComplete: boolean; breaksOff: boolean }) {
  const { tools } = week.world;
  const beganMs = nowOf(week);
  tools.isBroken = breaksOff;
  tools.shown = [];
  await readAll(week.world, isComplete);
  tools.isBroken = false;
  for (const shown of tools.shown) await absorbShown(week, shown, beganMs);
  for (const { pieces } of week.memory.values()) for (const id of pieces.keys()) tools.known.add(id);
  week.log(
    `read ${tools.shown.map(({ project, request }) => `${project}${request.changedSince === null ? '' : ' since'}`)}`,
  );
}

export async function report(week: Week, acceptsLowered: boolean): Promise<void> {
  const { ctx, market } = week.world;
  const before = noteMoves(week);
  week.log(`report ${acceptsLowered ? 'lowered too ' : ''}${market.fates}`);
  const [outcome] = await reportUsage(ctx, async () => undefined, { installs: [install], acceptsLowered }, signal);
  market.fates = [];
  week.reported = outcome?.failure === null && outcome.left === 0 ? before : null;
  week.begunAt = begunBy(week);
}

/** While a request without an answer may still arrive, something changes and is sent too. */
async function soon(week: Week, { a, b, c }: Step): Promise<void> {
  const { market, clock } = week.world;
  market.fates = [a < 0.6 ? 'again' : (pick(fates, more(a)) ?? 'late')];
  await report(week, true);
  clock.advance(60_000);
  edit(week, { does: 'edit', a: b, b: c, c: a });
  await read(week, { isComplete: c < 0.5, breaksOff: false });
  await report(week, true);
  if (b < 0.7) market.arrive();
}

async function importLines(week: Week, { a, b, c }: Step): Promise<void> {
  if (week.world.contracts.length === 0) return;
  const lines = [a, more(a), more(more(a))].slice(0, 1 + Math.floor(b * 3)).map((one) => drawLine(week, one, c));
  const isCompared = c < 0.4 && (await calm(week));
  const { id, preview } = await prepare(week, lines);
  // Two lines may have the same day. Some imports are only previewed.
  if (id === null || c > 0.9) return;
  await countImport(week.world.ctx, by, id);
  week.imports.push({ id, isUndone: false, lines });
  for (const { by: named, id: of, trainer, day: worked, counts } of lines) {
    noteMost(week, trainer, `${named} ${of} ${worked}`, counts.seconds ?? 0);
  }
  noteMoves(week);
  if (isCompared) await comparePreview(week, id, preview.outcomes.sent.counts);
}

async function prepare(week: Week, lines: readonly ImportLine[]): Promise<PreparedImport> {
  const csv = lines.map(({ by: named, id, trainer, day: worked, counts }) => {
    const on = named === 'contract' ? [id, ''] : ['', id];
    return [worked, ...on, trainer, ...names.map((name) => counts[name] ?? '')].join();
  });
  const header = 'workDate,contractId,externalProjectId,opentrainUserId,totalSeconds,tasksCompleted,labelsCompleted';
  noteMoves(week);
  week.world.clock.advance(1000);
  const file = { install, fileName: 'work.csv', actor: 'ada', format: 'csv' as const };
  const chunks = toChunks([header, ...csv].join('\n'));
  const progress = { signal, onProgress: () => undefined };
  const prepared = await prepareImport(week.world.ctx, { ...file, chunks }, progress);
  week.log(`import ${prepared.id} ${csv.join(' | ')} ${JSON.stringify(prepared.preview.outcomes)}`);
  return prepared;
}

/** Sends whatever is due. @returns whether all of it arrived */
async function calm(week: Week): Promise<boolean> {
  const { refused, told } = week.world.market;
  await report(week, true);
  return refused.size === 0 && ![...told.values()].some(isInDoubt);
}

/** The next run sends what the preview of an import said. */
async function comparePreview(week: Week, id: number, said: Counts): Promise<void> {
  const sum = () => [...week.world.market.stored.values()].reduce(plus, nothing);
  const before = sum();
  await report(week, false);
  const after = sum();
  const sent = mapCounts((name) => (after[name] ?? 0) - (before[name] ?? 0));
  if (names.some((name) => sent[name] !== (said[name] ?? 0))) {
    week.faults.push(`import ${id} said ${JSON.stringify(said)}, and sent ${JSON.stringify(sent)}`);
  }
}

async function* toChunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

function drawLine(week: Week, at: number, c: number): ImportLine {
  const { contracts } = week.world;
  const contract = pick(contracts, at) as ContractFact;
  const isByContract = more(at) < 0.5;
  const worked = shiftDay(toIso(nowOf(week)).slice(0, 10), -Math.floor(more(more(at)) * 11 + (c < 0.4 ? 1 : 0)));
  const usual = Math.round(100 + more(c + at) * 6000);
  const counts: Counts = {
    seconds: at < 0.8 ? usual : null,
    tasks: at > 0.5 ? Math.round(at * 20) : null,
    labels: at > 0.9 ? 0 : null,
  };
  // Some replace another import.
  const earlier = pick(
    week.imports.flatMap(({ lines }) => lines),
    more(at + c),
  );
  if (earlier !== undefined && more(c) < 0.5) return { ...earlier, counts };
  const named = isByContract
    ? { by: 'contract' as const, id: contract.id }
    : { by: 'project' as const, id: contract.project };
  return { ...named, trainer: contract.trainer, day: worked, counts };
}

async function undo(week: Week, { a }: Step): Promise<void> {
  const found = pick(
    week.imports.filter(({ isUndone }) => !isUndone),
    a,
  );
  if (found === undefined) return;
  const before = noteMoves(week);
  const isDismissed = found.lines.some(({ trainer, day: worked }) =>
    [...week.dismissed.keys()].some((key) => key.endsWith(` ${trainer} ${worked}`)),
  );
  const refusal = await tryTo(() => undoImport(week.world.ctx, by, found.id));
  if (refusal !== null) {
    week.log(`undo ${found.id} is refused`);
    if (!(refusal.code === 'conflict' && isDismissed)) throw refusal;
    return;
  }
  if (isDismissed) week.faults.push(`import ${found.id} was undone, although an operator had closed a day of it`);
  found.isUndone = true;
  week.log(`undo ${found.id}`);
  reopen(week, before, expect(week));
}

async function decide(week: Week, { a, b, c }: Step): Promise<void> {
  if (c < 0.7) await refreshDue(week.world.ctx);
  const row = await pickHeld(week, a, c > 0.5);
  if (row === undefined) return;
  const wish = drawWish(row, b);
  const name = nameOfRow(row);
  const before = noteMoves(week);
  const earlier = new Map(week.decisions);
  if (wish === 'back') week.decisions.delete(name);
  else week.decisions.set(name, wish);
  const after = expect(week);
  const isFutile = wish !== 'back' && isHeld(after, name);
  week.log(`decide ${name} ${wish}`);
  const refusal = await tryTo(() => decideOn(week, row.id, wish));
  if (refusal === null) {
    if (isFutile) week.faults.push(`${name} is held all the same, and the decision was taken`);
    reopen(week, before, after);
    return;
  }
  week.decisions = earlier;
  const isGone = !before.held.some((one) => one.name === name);
  if (refusal.code === 'conflict' ? !isFutile : !(isGone && refusal.code === 'not_found')) throw refusal;
}

async function pickHeld({ world: { ctx } }: Week, at: number, wantsDecided: boolean): Promise<HeldRow | undefined> {
  const rows = await listHeld(ctx);
  const decided = rows.filter(({ state }) => state !== 'held');
  return pick(wantsDecided && decided.length > 0 ? decided : rows, at);
}

/** A contract, null for a discard, or `back`. */
function drawWish({ state, contracts }: HeldRow, at: number): string | null {
  if (state !== 'held' && at < 0.7) return 'back';
  return at < 0.6 ? (pick(contracts, more(at))?.contractId ?? null) : null;
}

async function decideOn({ world: { ctx } }: Week, id: string, wish: string | null): Promise<void> {
  if (wish === 'back') await takeBackDecision(ctx, by, id);
  else await decideHeld(ctx, by, id, wish);
}

/** @returns the error, or null */
async function tryTo(act: () => Promise<unknown>): Promise<AppError | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Whether the work or its whole observation is held. */
function isHeld({ held }: Expected, name: string): boolean {
  const whole = name.replace(/ rest$/, '');
  return held.some((one) => (one.name === name || one.name === whole) && one.state === 'held');
}

/** The oracle's name of the same work. */
export function nameOfRow({ source, workedOn, trainerId, day: worked, work }: HeldRow): string {
  const [named, ...ids] = Object.values(workedOn);
  const isRest = work.endsWith(' rest');
  const isFirst = /"first"\](?: rest)?$/.test(work);
  return `${toWorkName(source, String(named), ids.join(' '), trainerId, worked, isFirst)}${isRest ? ' rest' : ''}`;
}

async function late(week: Week, { a, b }: Step): Promise<void> {
  const { ctx } = week.world;
  await refreshDue(ctx);
  noteMoves(week);
  const row = pick(await listLate(ctx, [install]), a);
  if (row === undefined) return;
  const key = keyOf(row.contractId, row.trainerId, row.day);
  const isSent = b < 0.5;
  week.log(`late ${key} ${isSent ? 'sent' : 'dismissed'}`);
  await decideLate(ctx, by, row.id, isSent);
  if (isSent) {
    week.closed.delete(key);
    week.dismissed.delete(key);
    week.reopened.add(key);
    return;
  }
  const due = expect(week).due.get(key) ?? nothing;
  week.dismissed.set(key, due);
  week.dismissedEver.set(key, JSON.stringify(due));
}
