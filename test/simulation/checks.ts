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
 * What must hold, checked at every change of the tool and every ten minutes.
 *
 * 1. Nobody is removed who has an active contract that a reading has shown, or who was not added by Gangway.
 * 2. Nobody is added to a project without a contract of its customer, unless that customer forges one.
 * 3. Once nothing goes wrong, people with a contract are in, and nobody stays in for longer than the bound after its end.
 * 4. Deliveries that were acknowledged are stored for as long as they must be kept, and so are events that a feed has read.
 * 5. Of two calls about one account, the second begins only when the first has ended.
 * 6. The work at the marketplace is the work that was done, and a known budget is the one at the time of the request.
 * 7. A weak end waits. With a brake, no more people are removed by weak ends in a day than it allows, unless approved.
 */
export interface Checks {
  look(): Promise<void>;
  lookAtEnd(): Promise<void>;
  wrongs(): string[];
}

const minuteMs = 60_000;
/** How long before the start of a reading its answers may date from. */
const lagMs = oldestAnswerMs + 2 * minuteMs;
/** The grace period is 15 minutes, by a clock that may be ahead. */
const graceMs = 10 * minuteMs;
/** The brake counts a day of removals, and the tool may take some hours to carry them out. */
const brakedMs = 20 * 60 * minuteMs;
/** By then the next reading has shown an end or a hire, even if one failed before and the longest pause followed. */
const readAfterMs = 150 * minuteMs;
/** The same when readings are rare. */
const quietlyReadAfterMs = readAfterMs + 150 * minuteMs;
/** The people on a contract are read every six hours. */
const askedAfterMs = 6.5 * 60 * minuteMs;
/** The same after a hire, if nothing went wrong for this customer since before it, whatever happened to others. */
const inSoonMs = 20 * minuteMs;
/** Deliveries are kept for a day, by a clock that may be ahead. */
const keptForMs = (24 * 60 - 5) * minuteMs;
/** By then a mistaken end has been delivered, and a list has contradicted it. */
const mistakenMs = 6 * 60 * minuteMs;
/** For this long the marketplace must have been readable, so that a list is available within half a minute. */
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
  /** The seats that Gangway filled, and when. */
  const ours = new Map<string, number>();
  /** The seats that were emptied after a weak end, and when. */
  const weakly = new Map<string, number>();

  function wrong(says: string): void {
    wrongs.push(`${new Date(clockwork.nowMs()).toISOString().slice(5, 19)} ${says}`);
    log(`*** ${says}`);
  }

  const reasonsOf = (seat: string) => market.reasons().filter((reason) => reason.seat === seat);
  /** Includes the reasons of a trainer in whose place their own customer has put a stranger. */
  const reasonsFor = (seat: string) =>
    market.reasons().filter((reason) => reason.seat === seat || forgedSeatOf(reason) === seat);
  const isOf = (customer: Customer, seat: string) =>
    market.jobsOf(customer).some(({ project }) => seat.startsWith(`${project}/`));
  const standingOf = (seat: string) => reasonsOf(seat).filter(({ untilMs }) => untilMs === null);

  tool.onAdd = (seat, group, hasOtherAccount) => {
    // An account from before a lost database stays one from before, whatever account is added beside it.
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

  /** After an end the active contracts are listed, so an earlier contract is known even if its event was lost. */
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

  /** When the database was last restored. */
  const putBackMs = () => fleet.forgotten().at(-1)?.untilMs ?? 0;

  const isReadable = (customer: Customer, now: number) => now - troubles.readableSinceMs(customer) > readableMs;

  /** Without an event only a list can show the contract, and a reading may have got one that was cut off. */
  async function mayBeUnknown({ contractId, customer, seat }: Reason, now: number): Promise<boolean> {
    if (now - saidEndedMs(contractId) < mistakenMs) return true;
    return !isReadable(customer, now) && !(await isKnown({ customer, contractId, seat }));
  }

  /** Whether an event or an answer has shown that somebody is on a contract. */
  async function isKnown({ customer, contractId, seat }: Pick<Reason, 'customer' | 'contractId' | 'seat'>) {
    const trainer = people.find((one) => seat.endsWith(`/${emailOf(one)}`)) ?? '';
    return await fleet.knows(customer, contractId, trainer);
  }

  /** Until when a contract was mistakenly reported as ended; for ever if the database was restored to such a time. */
  function saidEndedMs(contractId: string): number {
    const said = market.contracts.find(({ id }) => id === contractId)?.saidEnded ?? null;
    if (said === null) return 0;
    const isKept = fleet.forgotten().some(({ fromMs }) => said.fromMs <= fromMs && fromMs <= said.untilMs);
    return isKept ? Number.POSITIVE_INFINITY : said.untilMs;
  }

  /** The contract goes on, but its link, its customer's grant or the trainer's participation has ended. */
  async function judgeWeakRemoval(seat: string, reasons: readonly Reason[], now: number): Promise<void> {
    const goingOn = new Set(market.contracts.map(({ id }) => id).filter((id) => now - saidEndedMs(id) > mistakenMs));
    const weak = reasons.filter(({ ending, contractId }) => ending === 'weaker' && goingOn.has(contractId));
    const lastMs = Math.max(0, ...weak.map(({ untilMs }) => untilMs ?? 0));
    if (lastMs === 0 || reasons.some(({ untilMs }) => untilMs === null || untilMs > lastMs)) return;
    // Somebody who was on a contract only between two readings was never known to be on it.
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

  /** Everybody who is or should have been there since then. */
  function countPeople(customer: Customer, sinceMs: number): number {
    const wanted = market.reasons().filter(({ untilMs }) => untilMs === null || untilMs > sinceMs);
    const seats = [...tool.seats(), ...wanted.map(({ seat }) => seat)];
    return new Set(seats.filter((seat) => isOf(customer, seat))).size;
  }

  /** A contract is known if, by the database, a reading of its customer began after it did. */
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

  /** Whether Gangway can know that it filled the seat. A restored database may have forgotten it. */
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
    // In a storm there is often no operator who would approve it.
    const isHeld = (await fleet.listHeld()).some((held) => held.seat === seat);
    if (!isHeld) wrong(`${seat} is in ${sayMin(now - lastMs)} after the last contract ended`);
  }

  function lookForMissing({ seat, sinceMs, beginning: began, contractId, customer }: Reason, now: number): void {
    // Only the next answer shows somebody whom the first one left out.
    const beginning = market.contracts.some(({ id, isLeftOut }) => isLeftOut && id === contractId) ? 'joined' : began;
    const calmMs = Math.max(troubles.calmSinceMs(customer), saidEndedMs(contractId));
    const lastMs = Math.max(calmMs, sinceMs);
    // An event names only one of several people. The others are in the next list.
    const isNamed = market.contracts.some(
      ({ id, people: [first = ''] }) => id === contractId && seat.endsWith(`/${emailOf(first)}`),
    );
    // Somebody who should have been in before may have to wait out the back-off of the last failure.
    const isNew = standingOf(seat).every((reason) => reason.sinceMs >= calmMs);
    const isUndisturbed = isNew && beginning === 'hired' && isNamed;
    if (now - lastMs > (isUndisturbed ? inSoonMs : inAfterMs[beginning]))
      wrong(`${seat} is not in ${sayMin(now - lastMs)} after ${contractId}`);
  }

  /** Compares bodies, because the feed may have stored the same event. */
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

  /** In quiet weeks deliveries are kept for a day, and those that name a forgotten person are deleted. */
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
      // The answer may have been outdated, and later changes are not known yet.
      const sureMs = Math.max(changedMs + lagMs, troubles.readableSinceMs(install as Customer));
      if (isSame || Date.parse(askedAt) < sureMs) continue;
      wrong(`the budget of ${contractId} is known as ${consumedSeconds} s of ${fundedVolume} h`);
    }
  }

  /** The reasons of people who should be in but are not. */
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
