import type { Adapter } from '../../../src/adapters/adapter.ts';
import type { FakeClock } from '../fake-clock.ts';

/**
 * Who belonged where and who was where, by the minute, so that in the end each moment of the day
 * can be held against the truth of that moment.
 */
export interface DayLog {
  /** Who belongs where from now on, as `project/trainer`, and by what, for those who did not before. */
  belong(wanted: ReadonlyMap<string, Cause>, leftBy: Cause): void;
  /** The adapter, watched. */
  watch(adapter: Adapter): Adapter;
  /** Nothing can be read of the marketplace from now on, or can again. */
  setBlind(isBlind: boolean): void;
  /** Who belongs where now, sorted. */
  wanted(): string[];
  /** What was done in the tool, counted. */
  count(isPresent: boolean): number;
  /**
   * People who were taken out while they belonged there, and had for so long that it must have been
   * known; or it was known, since they had been put in for it.
   */
  wronglyRemoved(withinMs: number): string[];
  /** People who were there for longer than it may take to notice. */
  keptTooLong(allowedMs: Record<Cause, number>): string[];
  /** People who were not there for longer than it may take. */
  waitedTooLong(allowedMs: Record<Cause, number>): string[];
}

export type Cause = 'hired' | 'ended' | 'linked' | 'replaced';

interface Change {
  key: string;
  atMs: number;
  isIn: boolean;
  cause: Cause;
}

export function createDayLog(clock: FakeClock): DayLog {
  const truth: Change[] = [];
  const tool: Change[] = [];
  const blind: { fromMs: number; untilMs: number }[] = [];
  let current: ReadonlyMap<string, Cause> = new Map();
  const nowMs = () => clock.now().getTime();

  const describe = ({ key, atMs, cause }: Change) => `${key} at ${new Date(atMs).toISOString()} (${cause})`;

  /** Those of that direction which the tool had not followed when it had to. */
  function overdue(isIn: boolean, allowedMs: Record<Cause, number>): string[] {
    return truth
      .filter((change, index) => {
        const deadlineMs = deadlineOf(change, allowedMs[change.cause], blind);
        if (change.isIn !== isIn || deadlineMs > nowMs()) return false;
        // What did not stay so for that long need not have been noticed.
        const hasChanged = truth.slice(index + 1).some(({ key, atMs }) => key === change.key && atMs <= deadlineMs);
        return !hasChanged && isInAt(tool, change.key, deadlineMs) !== isIn;
      })
      .map(describe);
  }

  const note = (key: string, isIn: boolean) =>
    void tool.push({ key, atMs: nowMs(), isIn, cause: isIn ? 'hired' : 'ended' });

  return {
    belong(wanted, leftBy) {
      for (const key of new Set([...current.keys(), ...wanted.keys()])) {
        const joinedBy = wanted.get(key);
        const isIn = joinedBy !== undefined;
        if (isIn === current.has(key)) continue;
        truth.push({ key, atMs: nowMs(), isIn, cause: joinedBy ?? leftBy });
      }
      current = wanted;
    },
    watch: (adapter) => ({
      ...adapter,
      async addMember(group, person, signal) {
        const member = await adapter.addMember(group, person, signal);
        note(`${group}/${person.trainerId}`, true);
        return member;
      },
      async removeMember(group, member, signal) {
        await adapter.removeMember(group, member, signal);
        note(`${group}/${member.id}`, false);
      },
    }),
    setBlind(isBlind) {
      const last = blind.at(-1);
      if (isBlind) blind.push({ fromMs: nowMs(), untilMs: Number.POSITIVE_INFINITY });
      else if (last !== undefined) last.untilMs = nowMs();
    },
    wanted: () => [...current.keys()].sort(),
    count: (isPresent) => tool.filter(({ isIn }) => isIn === isPresent).length,
    wronglyRemoved: (withinMs) =>
      tool
        .filter(({ isIn, key, atMs }, index) => {
          if (isIn) return false;
          const since = belongsSince(truth, key, atMs);
          if (since === null) return false;
          const wasKnown = tool.slice(0, index).some((put) => put.key === key && put.isIn && put.atMs >= since);
          return wasKnown || atMs - since > withinMs;
        })
        .map(describe),
    keptTooLong: (allowedMs) => overdue(false, allowedMs),
    waitedTooLong: (allowedMs) => overdue(true, allowedMs),
  };
}

/** While nothing can be read, the time allowed does not run: it begins when it can be again. */
function deadlineOf(
  { atMs }: Change,
  allowedMs: number,
  blind: readonly { fromMs: number; untilMs: number }[],
): number {
  const hidden = blind.find(({ fromMs, untilMs }) => fromMs < atMs + allowedMs && untilMs > atMs);
  return hidden === undefined ? atMs + allowedMs : hidden.untilMs + allowedMs;
}

function isInAt(changes: readonly Change[], key: string, atMs: number): boolean {
  return changes.findLast((change) => change.key === key && change.atMs <= atMs)?.isIn ?? false;
}

/** Null: they do not belong there at that moment. */
function belongsSince(truth: readonly Change[], key: string, atMs: number): number | null {
  const last = truth.findLast((change) => change.key === key && change.atMs <= atMs);
  return last?.isIn === true ? last.atMs : null;
}
