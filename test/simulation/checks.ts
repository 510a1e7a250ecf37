import { createHash } from 'node:crypto';
import { clockwork } from './clockwork.ts';
import type { Reason } from './market.ts';
import { oldestAnswerMs } from './troubles.ts';
import type { World } from './world.ts';

/**
 * What must be so, at every change of the tool and every ten minutes.
 *
 * 1. Who has an active contract that a reading has shown is not taken out, and nobody who was not put in by Gangway.
 * 2. Nobody is put where no contract of that project's customer leads.
 * 3. Once nothing goes wrong, nobody is in for longer than the bound after an end, and who has a contract is in.
 * 4. What was answered as stored is stored.
 */
export interface Checks {
  look(): Promise<void>;
  lookAtEnd(): Promise<void>;
  wrongs(): string[];
}

const minuteMs = 60_000;
/** By so much the beginning of a reading may lie before what it shows. */
const lagMs = oldestAnswerMs + 2 * minuteMs;
/** Until the next reading has shown an end, with a failed one before and its longest rest. */
const outAfterMs = 150 * minuteMs;
/** Who is on a contract is asked again each six hours. */
const inAfterMs = { hired: 150 * minuteMs, joined: 9 * 60 * minuteMs };

export function createChecks({ tool, market, fleet, troubles, log, isMeddledWith }: World): Checks {
  const wrongs: string[] = [];
  /** Who was put in by Gangway, and when. */
  const ours = new Map<string, number>();

  function wrong(says: string): void {
    wrongs.push(`${new Date(clockwork.nowMs()).toISOString().slice(5, 19)} ${says}`);
    log(`*** ${says}`);
  }

  const reasonsOf = (seat: string) => market.reasons().filter((reason) => reason.seat === seat);
  const standingOf = (seat: string) => reasonsOf(seat).filter(({ untilMs }) => untilMs === null);

  tool.onAdd = (seat) => {
    ours.set(seat, clockwork.nowMs());
    if (reasonsOf(seat).length === 0) wrong(`${seat} is put in, and no contract ever led there`);
  };

  tool.onRemove = (seat) => {
    if (!ours.has(seat)) wrong(`${seat} is taken out, who was not put in by Gangway`);
    void judgeRemoval(seat, standingOf(seat), clockwork.nowMs());
  };

  /** A contract is known where a reading of its customer began after it did, as the database has it. */
  async function judgeRemoval(seat: string, standing: readonly Reason[], atMs: number): Promise<void> {
    for (const { customer, contractId, sinceMs } of standing) {
      const readBeganMs = await fleet.readBeganMs(customer);
      if (readBeganMs <= atMs && readBeganMs - lagMs > sinceMs) {
        wrong(`${seat} is taken out, and ${contractId} is active for ${sayMin(atMs - sinceMs)}`);
      }
    }
  }

  /** What the database does not know any more is not Gangway's, as far as it can tell. */
  function isOurs(seat: string): boolean {
    const { fromMs, untilMs } = fleet.forgotten();
    const addedMs = ours.get(seat);
    return addedMs !== undefined && (addedMs < fromMs || addedMs > untilMs) && !isMeddledWith(seat);
  }

  function lookForLeft(seat: string, now: number): void {
    const reasons = reasonsOf(seat);
    if (!isOurs(seat) || reasons.some(({ ending }) => ending !== 'ended')) return;
    const lastMs = Math.max(troubles.calmSinceMs(), ...reasons.map(({ untilMs }) => untilMs ?? 0));
    if (now - lastMs > outAfterMs) wrong(`${seat} is in ${sayMin(now - lastMs)} after the last contract ended`);
  }

  function lookForMissing({ seat, sinceMs, beginning, contractId }: Reason, now: number): void {
    const lastMs = Math.max(troubles.calmSinceMs(), sinceMs);
    if (now - lastMs > inAfterMs[beginning]) wrong(`${seat} is not in ${sayMin(now - lastMs)} after ${contractId}`);
  }

  /** By their bodies, as the feed may have stored the same event. */
  async function lookForLost(): Promise<void> {
    const stored = await fleet.listStored();
    const since = new Date(fleet.forgotten().untilMs).toISOString();
    for (const { id, body, attempts } of market.sandbox.listDeliveries()) {
      const isStored = stored.has(createHash('sha256').update(body).digest('hex'));
      const isAnswered = attempts.some(
        ({ at, httpStatus, isCorrupted }) => at > since && httpStatus === 200 && !isCorrupted,
      );
      if (isAnswered && !isStored) wrong(`the delivery ${id} was acknowledged, and is not stored`);
    }
  }

  return {
    wrongs: () => wrongs,
    async look() {
      const now = clockwork.nowMs();
      const seats = tool.seats();
      for (const seat of seats) lookForLeft(seat, now);
      const standing = market.reasons().filter(({ untilMs }) => untilMs === null);
      for (const reason of standing.filter(({ seat }) => !seats.has(seat) && !isMeddledWith(seat)))
        lookForMissing(reason, now);
    },
    async lookAtEnd() {
      const seats = tool.seats();
      for (const seat of seats) {
        if (isOurs(seat) && standingOf(seat).length === 0) wrong(`${seat} is still in at the end`);
      }
      for (const { seat, untilMs } of market.reasons()) {
        if (untilMs === null && !seats.has(seat) && !isMeddledWith(seat)) wrong(`${seat} is not in at the end`);
      }
      await lookForLost();
    },
  };
}

function sayMin(ms: number): string {
  return `${Math.round(ms / minuteMs)} min`;
}
