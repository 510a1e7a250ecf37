import fc from 'fast-check';
import type { UsageObservation } from '../../../src/adapters/adapter.ts';
import { type Counts, type Day, noCounts, toCounts } from '../../../src/domain/usage.ts';
import type { DueDay } from '../../../src/usage/attribute/attribute-work.ts';
import { type MemberWork, mergeWork, noWork } from '../../../src/usage/read/merge-work.ts';
import { beginDay, type LedgerDay, type SendResult, settleDay } from '../../../src/usage/report/ledger-day.ts';
import { type PlannedEntry, planReport } from '../../../src/usage/report/plan-report.ts';

/**
 * A tool, the bridge and a marketplace without anything between them but what goes wrong: every
 * reading, send and answer is a step of its own, and any of them may fail.
 */

const day0 = Date.parse('2026-03-15T06:00:00.000Z');
const dayMs = 86_400_000;
const lookbackMs = 14 * dayMs;
const longestOnItsWayMs = 10 * 60_000;

export type Step =
  | { step: 'work'; item: number; labels: number; seconds: number }
  | { step: 'delete'; item: number }
  | { step: 'deleteTask'; task: number }
  | { step: 'read'; isComplete: boolean; fails: boolean }
  | { step: 'send'; fate: 'answered' | 'lost' | 'unheard' | 'crash' | 'refused' | 'repeated' }
  | { step: 'arrive' }
  | { step: 'wait'; minutes: number };

const work = fc.record({
  step: fc.constant('work' as const),
  item: fc.nat(4),
  labels: fc.nat(5),
  seconds: fc.nat(300),
});
const read = fc.record({ step: fc.constant('read' as const), isComplete: fc.boolean(), fails: fc.boolean() });
const send = fc.record({
  step: fc.constant('send' as const),
  fate: fc.constantFrom(...(['answered', 'lost', 'unheard', 'crash', 'refused', 'repeated'] as const)),
});
// Within the time in which a lost request may arrive, and over a day.
const minutes = fc.oneof(fc.nat(15), fc.nat(1800));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: work },
  fc.record({ step: fc.constant('delete' as const), item: fc.nat(4) }),
  { weight: 2, arbitrary: read },
  { weight: 2, arbitrary: send },
  fc.record({ step: fc.constant('arrive' as const) }),
  fc.record({ step: fc.constant('wait' as const), minutes }),
);
/** Work on one thing that is read and sent at once: several of these meet on their way. */
const round = fc.tuple(
  work.map((one) => ({ ...one, item: 0 })),
  fc.constant({ step: 'read', isComplete: true, fails: false } as const),
  send,
);

export const story: fc.Arbitrary<Step[]> = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.tuple(step) }, { weight: 1, arbitrary: round }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((parts) => parts.flat());

/** Nothing is taken away but whole tasks, and what is edited becomes more. */
export const storyOfTasks: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: work },
      fc.record({ step: fc.constant('deleteTask' as const), task: fc.nat(1) }),
      { weight: 3, arbitrary: read },
      { weight: 2, arbitrary: send },
      fc.record({ step: fc.constant('wait' as const), minutes }),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((steps) => {
    const labels = new Map<number, number>();
    return steps.map((one) => {
      if (one.step !== 'work') return one;
      labels.set(one.item, (labels.get(one.item) ?? 0) + one.labels);
      return { ...one, labels: labels.get(one.item) ?? 0 };
    });
  });

interface ToolItem {
  /** The tool's id of it, and that of its task: neither comes again. */
  itemId: string;
  taskId: string;
  labels: number;
  seconds: number;
  doneAt: number;
  changedAt: number;
}

export interface Sent {
  day: Day;
  counts: Counts;
  /** The most that items can have come to since the last reading of everything, that reading included. */
  most: Counts;
  lowers: boolean;
  /** Whether a reading of everything had ended since it was last answered. */
  hasReason: boolean;
}

export function playStory(steps: readonly Step[]) {
  let now = day0;
  const tool = new Map<number, ToolItem>();
  let work: MemberWork = noWork;
  let readAt: number | null = null;
  const ledger = new Map<Day, LedgerDay>();
  const marketplace = new Map<Day, Counts>();
  const delayed: { day: Day; counts: Counts; arrivesBy: number }[] = [];
  const sent: Sent[] = [];
  let completeReadings = 0;
  const completeAt = new Map<Day, number>();
  const seen = new Map<number, { labels: number; seconds: number; days: Set<Day> }>();
  /** The two tasks there are at a time, by what they are called now. */
  const tasks = ['0', '1'];
  let tasksMade = tasks.length;
  /** What was read last of each piece that ever was. */
  const heardLast = new Map<string, ToolItem>();

  function remember(id: number, { labels, seconds, doneAt }: ToolItem): void {
    const known = seen.get(id) ?? { labels: 0, seconds: 0, days: new Set<Day>() };
    seen.set(id, {
      labels: Math.max(known.labels, labels),
      seconds: Math.max(known.seconds, seconds),
      days: known.days.add(toDay(doneAt)),
    });
  }

  /** Seconds may lie on any day on which an item has changed. */
  function mostOf(day: Day): Counts {
    const ofDay = [...seen].filter(([, { days }]) => days.has(day));
    return {
      seconds: [...seen.values()].reduce((sum, one) => sum + one.seconds, 0),
      tasks: new Set(ofDay.map(([id]) => id % 2)).size,
      labels: ofDay.reduce((sum, [, one]) => sum + one.labels, 0),
    };
  }

  function read(isComplete: boolean, fails: boolean): void {
    const since = isComplete || readAt === null ? null : readAt - 600_000;
    const heard = [...tool].filter(([, { changedAt }]) => since === null || changedAt >= since);
    const observations: UsageObservation[] = heard.map(
      ([, { itemId, taskId, labels, seconds, doneAt, changedAt }]) => ({
        memberId: 'm1',
        of: 'item',
        itemId,
        taskId,
        labels,
        seconds,
        doneAt: toInstant(doneAt),
        changedAt: toInstant(changedAt),
      }),
    );
    if (fails) return;
    const firstDay = toDay(now - lookbackMs);
    const reading = { beganAt: new Date(now), timeZone: 'UTC', firstDay, countsFirstTotal: true };
    work = mergeWork(work, observations, { ...reading, lowers: isComplete, tasks: new Set(tasks) });
    readAt = now;
    if (isComplete) {
      completeReadings += 1;
      seen.clear();
    }
    for (const [id, item] of heard) remember(id, item);
    for (const [, item] of heard) heardLast.set(item.itemId, item);
  }

  function plan() {
    const due: DueDay[] = [...work.days].map(([day, { counts }]) => ({
      install: 'acme',
      contractId: 'c1',
      trainerId: 't1',
      day,
      timeZone: 'UTC',
      counts,
    }));
    return planReport(due, ({ day }) => ledger.get(day), { now: new Date(now), lookbackMs });
  }

  function send(fate: Extract<Step, { step: 'send' }>['fate']): void {
    for (const entry of plan().entries) {
      const { day, counts, lowers } = entry;
      const hasReason = (completeAt.get(day) ?? -1) < completeReadings;
      sent.push({ day, counts, most: mostOf(day), lowers, hasReason });
      ledger.set(day, beginDay(ledger.get(day), entry, toInstant(now)));
      // Nothing after it is sent any more.
      if (fate === 'crash') return;
      fates[fate](entry);
    }
  }

  const fates = {
    lost: delay,
    unheard: ({ day, counts }: PlannedEntry) => store(day, counts),
    refused: (entry: PlannedEntry) => settle(entry, 'unsent'),
    answered(entry: PlannedEntry) {
      store(entry.day, entry.counts);
      settle(entry, 'answered');
    },
    /** Tried twice by the client: the first time may arrive later. */
    repeated(entry: PlannedEntry) {
      delay(entry);
      store(entry.day, entry.counts);
      settle(entry, 'answered', true);
    },
  };

  function delay({ day, counts }: PlannedEntry): void {
    delayed.push({ day, counts, arrivesBy: now + longestOnItsWayMs });
  }

  function settle(entry: PlannedEntry, state: SendResult['state'], isRepeated = false): void {
    const begun = ledger.get(entry.day);
    if (begun === undefined) return;
    const result = { state, isRepeated, status: null, requestId: null, message: null };
    ledger.set(entry.day, settleDay(begun, entry, result, toInstant(now)));
    if (state === 'answered') completeAt.set(entry.day, completeReadings);
  }

  function arrive(isDue: (one: { arrivesBy: number }) => boolean): void {
    const due = delayed.filter(isDue);
    for (const one of due) store(one.day, one.counts);
    delayed.splice(0, delayed.length, ...delayed.filter((one) => !isDue(one)));
  }

  function store(day: Day, counts: Counts): void {
    marketplace.set(day, overwrite(marketplace.get(day) ?? noCounts, counts));
  }

  function take(one: Step): void {
    switch (one.step) {
      case 'work': {
        const known = tool.get(one.item);
        const seconds = (known?.seconds ?? 0) + one.seconds;
        const doneAt = known?.doneAt ?? now;
        const taskId = tasks[one.item % 2] ?? '';
        const ids = { taskId, itemId: `${one.item} of ${taskId}` };
        tool.set(one.item, { ...ids, labels: one.labels, seconds, doneAt, changedAt: now });
        return;
      }
      case 'delete':
        tool.delete(one.item);
        return;
      case 'deleteTask':
        tasks[one.task] = String(tasksMade++);
        for (const item of [...tool.keys()]) if (item % 2 === one.task) tool.delete(item);
        return;
      case 'read':
        read(one.isComplete, one.fails);
        return;
      case 'send':
        send(one.fate);
        return;
      case 'arrive':
        arrive(() => true);
        return;
      case 'wait':
        now += one.minutes * 60_000;
    }
  }

  for (const one of steps) {
    now += 60_000;
    arrive(({ arrivesBy }) => arrivesBy <= now);
    take(one);
  }
  return {
    sent,
    work: () => work,
    /** Nothing goes wrong any more: what is on its way arrives, and everything is read and sent. */
    settle() {
      take({ step: 'arrive' });
      for (let round = 0; round < 3; round += 1) {
        now += longestOnItsWayMs;
        read(true, false);
        send('answered');
      }
    },
    marketplace,
    tool,
    heardLast,
    firstDay: () => toDay(now - lookbackMs),
    left: () => plan().entries.length,
  };
}

function overwrite(stored: Counts, counts: Counts): Counts {
  return toCounts((name) => counts[name] ?? stored[name]);
}

export function toDay(at: number): Day {
  return toInstant(at).slice(0, 10);
}

function toInstant(at: number): string {
  return new Date(at).toISOString();
}
