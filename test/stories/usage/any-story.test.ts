import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isLower } from '../../../src/domain/usage.ts';
import { tries } from '../../support/tries.ts';
import { playStory, type Step, story, storyOfTasks, toDay } from './model.ts';

/** Whatever is read, edited, deleted, lost, repeated or broken off, in any order. */

const timeoutMs = 60_000;

it(
  'sends no more than was read, lowers with reason, and comes to what the tool has',
  () => {
    const check = (steps: Step[]) => {
      const played = playStory(steps);
      for (const { counts, most } of played.sent) expect(isLower(most, counts)).toBe(false);
      expect(played.sent.filter((one) => one.lowers && !one.hasReason)).toEqual([]);
      played.settle();
      expect(played.left()).toBe(0);
      expectEqual(played);
    };
    fc.assert(fc.property(story, check), { numRuns: tries(10_000) });
  },
  timeoutMs,
);

it(
  'lowers nothing that no reading of everything has lowered',
  () => {
    const check = (steps: Step[]) => {
      const partly = steps.map((one) => (one.step === 'read' ? { ...one, isComplete: false } : one));
      expect(playStory(partly).sent.filter(({ lowers }) => lowers)).toEqual([]);
    };
    fc.assert(fc.property(story, check), { numRuns: tries(3000) });
  },
  timeoutMs,
);

it(
  'lowers nothing where tasks are deleted, and comes to all that was ever read',
  () => {
    const check = (steps: Step[]) => {
      const played = playStory(steps);
      played.settle();
      expect(played.sent.filter(({ lowers }) => lowers)).toEqual([]);
      const first = played.firstDay();
      for (const [day, { labels }] of played.marketplace) {
        if (day < first) continue;
        const done = [...played.heardLast.values()].filter((one) => toDay(one.doneAt) === day);
        expect(labels).toBe(done.reduce((sum, one) => sum + one.labels, 0));
      }
    };
    fc.assert(fc.property(storyOfTasks, check), { numRuns: tries(5000) });
  },
  timeoutMs,
);

it.each(['answered', 'repeated'] as const)(
  'sends again what a lost request overwrites after a second answer (%s)',
  (fate) => {
    const read = { step: 'read', isComplete: true, fails: false } as const;
    const work = (labels: number) => ({ step: 'work', item: 1, seconds: 10, labels }) as const;
    const first = fate === 'repeated' ? 'repeated' : 'lost';
    const played = playStory([
      work(1),
      read,
      { step: 'send', fate: first } as const,
      work(2),
      read,
      { step: 'send', fate: 'answered' } as const,
      work(3),
      read,
      { step: 'send', fate: 'answered' } as const,
    ]);
    played.settle();
    expectEqual(played);
  },
);

/** Within the look-back, day by day; of seconds, which grow on days of their own, all together. */
function expectEqual(played: ReturnType<typeof playStory>): void {
  const first = played.firstDay();
  const items = [...played.tool].filter(([, { doneAt }]) => toDay(doneAt) >= first);
  const days = [...played.marketplace].filter(([day]) => day >= first);
  const secondsOf = (all: { seconds: number | null }[]) => all.reduce((sum, one) => sum + (one.seconds ?? 0), 0);
  expect(secondsOf(days.map(([, counts]) => counts))).toBe(secondsOf(items.map(([, one]) => one)));
  for (const [day, { labels, tasks }] of days) {
    const done = items.filter(([, { doneAt }]) => toDay(doneAt) === day);
    expect(labels).toBe(done.reduce((sum, [, one]) => sum + one.labels, 0));
    expect(tasks).toBe(new Set(done.map(([id]) => id % 2)).size);
  }
  const missing = items.filter(([, { doneAt, labels }]) => labels > 0 && !played.marketplace.has(toDay(doneAt)));
  expect(missing).toEqual([]);
}
