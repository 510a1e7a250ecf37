import { copyFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { copyPostgresDatabase, type Dialect } from '../databases.ts';
import { createFolder } from '../folder.ts';
import { type BridgeLife, bridgeLife, type StoryPlan, storyPlan } from './alphabet.ts';
import type { Databases } from './bridge-life.ts';
import { type Lived, liveTogether } from './live.ts';

/**
 * Stories by their seeds. `7.12` is the twelfth of the seventh batch: the batch decides what happens
 * to the bridge, and the number what happens in the story; so that each can be run again alone.
 */

/** So many that know nothing of each other are lived by one bridge at a time. */
export const together = 100;

function planOf(batch: number, index: number): StoryPlan {
  return draw(storyPlan, toSeed(batch, index));
}

function lifeOf(batch: number): BridgeLife {
  return draw(bridgeLife, batch);
}

function toSeed(batch: number, index: number): number {
  return batch * 1000 + index;
}

const drawing = { numRuns: 1, unbiased: true };

function draw<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  const [value] = fc.sample(arbitrary, { ...drawing, seed });
  if (value === undefined) throw new Error('nothing was drawn');
  return value;
}

/** A story that ended wrongly, by its number in its batch. */
export interface Wrong {
  index: number;
  says: string;
  /** What happened in it, minute by minute. */
  lines: readonly string[];
}

/** Lives one batch. */
export async function runBatch(dialect: Dialect, batch: number, count: number): Promise<Wrong[]> {
  const plans = Array.from({ length: count }, (_, index) => planOf(batch, index));
  const lived = await liveTogether(databasesOf(dialect), lifeOf(batch), plans);
  return [...lived.entries()]
    .filter(([, { wrongs }]) => wrongs.length > 0)
    .map(([index, { wrongs, lines }]) => ({ index, lines, says: `story ${batch}.${index}: ${wrongs.join('; ')}` }));
}

/**
 * Lives one story alone, and where it ends wrongly says what happened in the shortest like it that
 * does. @returns null where it is right
 */
export async function tellAlone(dialect: Dialect, batch: number, index: number): Promise<string | null> {
  const life = lifeOf(batch);
  const live = async (plan: StoryPlan) => {
    const [lived] = await liveTogether(databasesOf(dialect), life, [plan]);
    return lived !== undefined && lived.wrongs.length > 0 ? lived : null;
  };
  const first = await live(planOf(batch, index));
  if (first === null) return null;
  const { plan, lines, wrongs } = await shorten(first, live);
  return [
    `Story ${batch}.${index}, shortened; tell it again with STORIES_SEED=${batch}.${index}`,
    `the bridge: ${JSON.stringify(life)}`,
    `in lists of ended contracts ${plan.isEndedCutOff ? 'not all' : 'all'} can be read`,
    ...plan.steps.map((step) => JSON.stringify(step)),
    ...lines,
    ...wrongs.map((wrong) => `*** ${wrong}`),
  ].join('\n');
}

/** Leaves out one step after the other, as long as it still ends wrongly in one of the same ways. */
async function shorten(first: Lived, live: (plan: StoryPlan) => Promise<Lived | null>): Promise<Lived> {
  const kinds = new Set(first.wrongs.map(kindOf));
  let shortest = first;
  for (let at = first.plan.steps.length - 1; at >= 0; at -= 1) {
    const { plan } = shortest;
    const shorter = await live({ ...plan, steps: plan.steps.toSpliced(at, 1) });
    if (shorter?.wrongs.some((wrong) => kinds.has(kindOf(wrong)))) shortest = shorter;
  }
  return shortest;
}

/** Without when and who. */
function kindOf(wrong: string): string {
  return wrong.replace(/^\S+ /, '').replace(/:.*/, '');
}

function databasesOf({ name, createMigrated: create }: Dialect): Databases {
  if (name === 'postgres') {
    const backUp = (url: string) => copyPostgresDatabase(url);
    return { create, backUp, restore: async (backup) => backup };
  }
  const fileOf = (url: string) => url.slice('sqlite:'.length);
  return {
    create,
    async backUp(url) {
      const backup = path.join(createFolder(), 'backup.db');
      copyFileSync(fileOf(url), backup);
      return backup;
    },
    async restore(backup, url) {
      for (const rest of ['-wal', '-shm']) rmSync(fileOf(url) + rest, { force: true });
      copyFileSync(backup, fileOf(url));
      return url;
    },
  };
}
