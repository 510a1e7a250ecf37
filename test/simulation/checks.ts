import { createHash } from 'node:crypto';
import { brakeAllowance } from '../../src/domain/brake.ts';
import { clockwork } from './clockwork.ts';
import { brakeLimits } from './fleet.ts';
import { emailOf, people, type Reason } from './market.ts';
import type { Customer } from './plan.ts';
import { oldestAnswerMs } from './troubles.ts';
import type { World } from './world.ts';
import { findWrongWork } from './wrong-work.ts';

/**
 * What must be so, at every change of the tool and every ten minutes.
 *
 * 1. Who has an active contract that a reading has shown is not taken out, and nobody who was not put in by Gangway.
 * 2. Nobody is put where no contract of that project's customer leads, unless that customer forges it.
 * 3. Once nothing goes wrong, nobody is in for longer than the bound after an end, and who has a contract is in.
 * 4. What was answered as stored is stored as long as it is to be kept, and so is what a feed is not asked for again.
 * 5. Of two calls about one account the second begins when the first has ended.
 * 6. What the marketplace holds of work is what was worked, and a budget that was asked for is known as it was then.
 * 7. A weak end waits, and with a brake no more end weakly in a day than it allows, unless a person lets them pass.
 */
export interface Checks {
  look(): Promise<void>;
  lookAtEnd(): Promise<void>;
  wrongs(): string[];
}

const minuteMs = 60_000;
/** By so much the beginning of a reading may lie before what it shows. */
const lagMs = oldestAnswerMs + 2 * minuteMs;
/** A quarter of an hour, by a clock that may be ahead. */
const graceMs = 10 * minuteMs;
/** The brake counts what it lets pass within a day, and that may take the tool some hours. */
const brakedMs = 20 * 60 * minuteMs;
/** Until the next reading has shown an end or a hire, with a failed one before and its longest rest. */
const readAfterMs = 150 * minuteMs;
/** The same where readings are seldom. */
const quietlyReadAfterMs = readAfterMs + 150 * minuteMs;
/** Who is on a contract is asked again each six hours. */
const askedAfterMs = 6.5 * 60 * minuteMs;
/** The same after a hire, where nothing has concerned their customer since before: whatever befalls others. */
const inSoonMs = 20 * minuteMs;
/** A day, by a clock that may be ahead. */
const keptForMs = (24 * 60 - 5) * minuteMs;
/** By then what was said by mistake has been delivered, and a list has contradicted it. */
const mistakenMs = 6 * 60 * minuteMs;
/** So long the marketplace must have been readable for a list to be had within half a minute. */
const readableMs = 15 * minuteMs;

export function createChecks({
  tool,
  market,
  fleet,
  troubles,
  hasBrake,
  isQuiet,
  log,
  forgedSeatOf,
  isMeddledWith,
  isWorkKnown,
}: World): Checks {
  const wrongs: string[] = [];
  const outAfterMs = isQuiet ? quietlyReadAfterMs : readAfterMs;
  const inAfterMs = { hired: outAfterMs, linked: outAfterMs, joined: outAfterMs + askedAfterMs };
  /** Who was put in by Gangway, and when. */
  const ours = new Map<string, number>();
  /** Who was taken out after a weak end, and when. */
  const weakly = new Map<string, number>();

  function wrong(says: string): void {
    wrongs.push(`${new Date(clockwork.nowMs()).toISOString().slice(5, 19)} ${says}`);
    log(`*** ${says}`);
  }

  const reasonsOf = (seat: string) => market.reasons().filter((reason) => reason.seat === seat);
  /** With those of a trainer in whose place their own customer has put a stranger. */
  const reasonsFor = (seat: string) =>
    market.reasons().filter((reason) => reason.seat === seat || forgedSeatOf(reason) === seat);
  const isOf = (customer: Customer, seat: string) =>
    market.jobsOf(customer).some(({ project }) => seat.startsWith(`${project}/`));
  const standingOf = (seat: string) => reasonsOf(seat).filter(({ untilMs }) => untilMs === null);

  tool.onAdd = (seat, group, hasOtherAccount) => {
    // An account of before a database was lost stays one of before it, whatever account is put in beside it.
    if (!hasOtherAccount || !ours.has(seat)) ours.set(seat, clockwork.nowMs());
    if (fleet.leavesOut(group)) wrong(`${seat} is put in, and the configuration does not name ${group}`);
    if (reasonsFor(seat).length === 0) wrong(`${seat} is put in, and no contract ever led there`);
  };

  tool.onTakenOver = (seat) => {
    ours.set(seat, ours.get(seat) ?? clockwork.nowMs());
  };

  tool.onOverlap = (address) => wrong(`there are two calls about ${address} at once`);

  fleet.onKilled = lookForLost;

  tool.onRemove = (seat) => {
    if (!ours.has(seat)) wrong(`${seat} is taken out, who was not put in by Gangway`);
    void judgeWeakRemoval(seat, reasonsOf(seat), clockwork.nowMs());
    judgeRenewal(seat, clockwork.nowMs());
    void judgeRemoval(seat, standingOf(seat), clockwork.nowMs());
  };

  /** After an end the active contracts are listed, so a contract of before is known, however its event was lost. */
  function judgeRenewal(seat: string, now: number): void {
    const reasons = reasonsOf(seat);
    const endedMs = (of: Customer) => {
      const ended = reasons.filter(({ customer, ending }) => customer === of && ending === 'ended');
      return Math.max(0, ...ended.map(({ untilMs }) => untilMs ?? 0));
    };
    const renewed = reasons.find(
      ({ untilMs, sinceMs, beginning, customer, contractId }) =>
        untilMs === null &&
        sinceMs <= endedMs(customer) &&
        beginning === 'hired' &&
        now - saidEndedMs(contractId) > mistakenMs &&
        isReadable(customer, now),
    );
    if (renewed !== undefined) wrong(`${seat} is taken out, and ${renewed.contractId} was there to be listed`);
  }

  /** When the database was put back last. */
  const putBackMs = () => fleet.forgotten().at(-1)?.untilMs ?? 0;

  const isReadable = (customer: Customer, now: number) => now - troubles.readableSinceMs(customer) > readableMs;

  /** Of what no event has told only a list can tell, and a reading may have got one that was cut off. */
  async function mayBeUnknown({ contractId, customer, seat }: Reason, now: number): Promise<boolean> {
    if (now - saidEndedMs(contractId) < mistakenMs) return true;
    return !isReadable(customer, now) && !(await isKnown({ customer, contractId, seat }));
  }

  /** Whether an event or an answer has told that somebody is on a contract. */
  async function isKnown({ customer, contractId, seat }: Pick<Reason, 'customer' | 'contractId' | 'seat'>) {
    const trainer = people.find((one) => seat.endsWith(`/${emailOf(one)}`)) ?? '';
    return await fleet.knows(customer, contractId, trainer);
  }

  /** Until when somebody said by mistake that a contract has ended: for ever, where the database was put back to that. */
  function saidEndedMs(contractId: string): number {
    const said = market.contracts.find(({ id }) => id === contractId)?.saidEnded ?? null;
    if (said === null) return 0;
    const isKept = fleet.forgotten().some(({ fromMs }) => said.fromMs <= fromMs && fromMs <= said.untilMs);
    return isKept ? Number.POSITIVE_INFINITY : said.untilMs;
  }

  /** Of a contract that goes on something weaker has ended: its link, its customer's grant, or who is on it. */
  async function judgeWeakRemoval(seat: string, reasons: readonly Reason[], now: number): Promise<void> {
    const goingOn = new Set(market.contracts.map(({ id }) => id).filter((id) => now - saidEndedMs(id) > mistakenMs));
    const weak = reasons.filter(({ ending, contractId }) => ending === 'weaker' && goingOn.has(contractId));
    const lastMs = Math.max(0, ...weak.map(({ untilMs }) => untilMs ?? 0));
    if (lastMs === 0 || reasons.some(({ untilMs }) => untilMs === null || untilMs > lastMs)) return;
    // Who was on a contract between two readings was never known to be on it.
    const last = weak.find(({ untilMs }) => untilMs === lastMs);
    if (last === undefined || !(await isKnown(last))) return;
    if (now - lastMs < graceMs) wrong(`${seat} is taken out ${sayMin(now - lastMs)} after a weak end`);
    countWeakRemoval(seat, last, now);
  }

  function countWeakRemoval(seat: string, { customer }: Reason, now: number): void {
    weakly.set(seat, now);
    const sinceMs = now - brakedMs;
    if (!hasBrake || Math.max(fleet.approvedMs(customer), putBackMs()) > sinceMs) return;
    const latest = [...weakly].filter(([one, atMs]) => isOf(customer, one) && atMs > sinceMs);
    const allowed = brakeAllowance(brakeLimits, countPeople(customer, sinceMs));
    if (latest.length > allowed) wrong(`${latest.length} are let pass by a brake that allows ${allowed}`);
  }

  /** Everybody who is or was to be there since then. */
  function countPeople(customer: Customer, sinceMs: number): number {
    const wanted = market.reasons().filter(({ untilMs }) => untilMs === null || untilMs > sinceMs);
    const seats = [...tool.seats(), ...wanted.map(({ seat }) => seat)];
    return new Set(seats.filter((seat) => isOf(customer, seat))).size;
  }

  /** A contract is known where a reading of its customer began after it did, as the database has it. */
  async function judgeRemoval(seat: string, standing: readonly Reason[], atMs: number): Promise<void> {
    for (const reason of standing) {
      const { customer, contractId, sinceMs } = reason;
      if (await mayBeUnknown(reason, atMs)) continue;
      const readBeganMs = await fleet.readBeganMs(customer);
      if (readBeganMs <= atMs && readBeganMs - lagMs > sinceMs) {
        wrong(`${seat} is taken out, and ${contractId} is active for ${sayMin(atMs - sinceMs)}`);
      }
    }
  }

  /** What the database does not know any more is not Gangway's, as far as it can tell. */
  function isOurs(seat: string): boolean {
    const addedMs = ours.get(seat);
    if (addedMs === undefined || tool.isByHand(seat)) return false;
    const isForgotten = fleet
      .forgotten()
      .some(({ fromMs, untilMs }) => addedMs >= fromMs && addedMs <= untilMs && !fleet.isAdoptedSince(seat, untilMs));
    return !isForgotten && !isMeddledWith(seat);
  }

  async function lookForLeft(seat: string, now: number): Promise<void> {
    const reasons = reasonsFor(seat);
    if (!isOurs(seat) || reasons.some(({ ending }) => ending !== 'ended')) return;
    const lastMs = Math.max(troubles.calmSinceMs(), ...reasons.map(({ untilMs }) => untilMs ?? 0));
    if (now - lastMs <= outAfterMs) return;
    // In a storm there is mostly no person who would let it pass.
    const isHeld = (await fleet.listHeld()).some((held) => held.seat === seat);
    if (!isHeld) wrong(`${seat} is in ${sayMin(now - lastMs)} after the last contract ended`);
  }

  function lookForMissing({ seat, sinceMs, beginning: began, contractId, customer }: Reason, now: number): void {
    // Whom the first answer has left out only the next one tells.
    const beginning = market.contracts.some(({ id, isLeftOut }) => isLeftOut && id === contractId) ? 'joined' : began;
    const calmMs = Math.max(troubles.calmSinceMs(customer), saidEndedMs(contractId));
    const lastMs = Math.max(calmMs, sinceMs);
    // An event names one of several people: the others are in the next list.
    const isNamed = market.contracts.some(
      ({ id, people: [first = ''] }) => id === contractId && seat.endsWith(`/${emailOf(first)}`),
    );
    // Who was to be in before waits as long as the last failure has them wait.
    const isNew = standingOf(seat).every((reason) => reason.sinceMs >= calmMs);
    const isUndisturbed = isNew && beginning === 'hired' && isNamed;
    if (now - lastMs > (isUndisturbed ? inSoonMs : inAfterMs[beginning]))
      wrong(`${seat} is not in ${sayMin(now - lastMs)} after ${contractId}`);
  }

  /** By their bodies, as the feed may have stored the same event. */
  async function lookForLost(): Promise<void> {
    const stored = await fleet.listStored();
    const since = new Date(putBackMs()).toISOString();
    const upTo = await fleet.readUpTo('own');
    const deliveries = market.sandbox.listDeliveries().filter(({ body }) => isToBeKept(body));
    for (const { id, eventId, installId, body, attempts } of deliveries) {
      const isStored = stored.has(createHash('sha256').update(body).digest('hex'));
      const isRead = installId === market.idOf('own') && BigInt(eventId) <= upTo;
      if (isRead && !isStored) wrong(`the feed was read up to ${upTo}, and ${eventId} of it is not stored`);
      const isAnswered = attempts.some(
        ({ at, httpStatus, isCorrupted }) => at > since && httpStatus === 200 && !isCorrupted,
      );
      if (isAnswered && !isStored) wrong(`the delivery ${id} was acknowledged, and is not stored`);
    }
  }

  /** Not for longer than a day in quiet weeks, and not if an operator had somebody forgotten whom it names. */
  function isToBeKept(body: string): boolean {
    const createdMs = Date.parse((JSON.parse(body) as { createdAt: string }).createdAt);
    const isForgotten = fleet
      .forgottenPeople()
      .some(({ trainer, atMs }) => createdMs <= atMs && body.includes(`"${trainer}"`));
    return !isForgotten && !(isQuiet && createdMs < clockwork.nowMs() - keptForMs);
  }

  async function lookForWrongBudgets(): Promise<void> {
    const contracts = market.sandbox.snapshot().contracts;
    const held = new Map(contracts.map(({ id, budget }) => [id, budget]));
    const fundedMs = new Map(market.contracts.map((contract) => [contract.id, contract.fundedMs]));
    for (const { install, contractId, askedAt, consumedSeconds, fundedVolume } of await fleet.listBudgets()) {
      const [budget, funded] = [held.get(contractId), fundedMs.get(contractId)];
      if (budget === undefined || funded === undefined || askedAt === null) continue;
      const changedMs = Math.max(funded, Date.parse(budget.lastUsageAt ?? '1970-01-01'));
      const isSame = consumedSeconds === budget.consumed.seconds && fundedVolume === budget.fundedVolume;
      // An answer may have been old, and what has changed since is not known yet.
      const sureMs = Math.max(changedMs + lagMs, troubles.readableSinceMs(install as Customer));
      if (isSame || Date.parse(askedAt) < sureMs) continue;
      wrong(`the budget of ${contractId} is known as ${consumedSeconds} s of ${fundedVolume} h`);
    }
  }

  /** Why somebody should be in who is not. */
  function listMissing(): Reason[] {
    const seats = tool.seats();
    const isIn = (reason: Reason) => seats.has(reason.seat) || seats.has(forgedSeatOf(reason) ?? '');
    const standing = market.reasons().filter(({ untilMs }) => untilMs === null);
    return standing.filter((reason) => !isIn(reason) && !isMeddledWith(reason.seat));
  }

  return {
    wrongs: () => wrongs,
    async look() {
      const now = clockwork.nowMs();
      for (const seat of tool.seats()) await lookForLeft(seat, now);
      for (const reason of listMissing()) lookForMissing(reason, now);
    },
    async lookAtEnd() {
      const now = clockwork.nowMs();
      const isOver = (seat: string) => reasonsFor(seat).every(({ untilMs }) => untilMs !== null);
      const left = [...tool.seats()].filter((seat) => isOurs(seat) && isOver(seat));
      for (const seat of left) wrong(`${seat} is still in at the end`);
      const missing = listMissing().filter(({ contractId }) => now - saidEndedMs(contractId) > inAfterMs.hired);
      for (const { seat } of missing) wrong(`${seat} is not in at the end`);
      if (isWorkKnown()) for (const says of findWrongWork({ tool, market })) wrong(says);
      await lookForWrongBudgets();
      await lookForLost();
    },
  };
}

function sayMin(ms: number): string {
  return `${Math.round(ms / minuteMs)} min`;
}
