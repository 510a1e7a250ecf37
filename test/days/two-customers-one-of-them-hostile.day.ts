import { expect, it } from 'vitest';
import { mapAtOnce } from '../../src/lib/at-once.ts';
import { type Dialect, postgres, sqlite } from '../support/databases.ts';
import { type HostileDay, type HostileDayReport, liveHostileDay } from '../support/hostile/hostile-day.ts';
import { openWatchedHttp } from '../support/hostile/watched-http.ts';
import { openWatchedLabelStudio } from '../support/hostile/watched-label-studio.ts';
import { openWatchedRoster } from '../support/hostile/watched-roster.ts';
import { openWatchedScim } from '../support/hostile/watched-scim.ts';
import { isThorough, tries } from '../support/tries.ts';

type Variant = Partial<HostileDay> & Pick<HostileDay, 'tool'> & { dialect?: Dialect };

const isManaged = { managedDomains: ['opentrain.work'] };
const usual: Record<string, Variant> = {
  http: { tool: openWatchedHttp },
  'label-studio, which people sign up to by themselves': {
    tool: openWatchedLabelStudio,
    toolOptions: { onboarding: 'invite_link' },
    // While others are let out, the link that all trainers have is made anew.
    ...isManaged,
    mostSteps: 1,
  },
};
/** In `.ci/run` too. */
const rare: Record<string, Variant> = {
  scim: { tool: openWatchedScim },
  roster: { tool: openWatchedRoster },
  'http on PostgreSQL, which takes b-1 and B-1 for the same': {
    tool: openWatchedHttp,
    toolOptions: { foldsIds: true },
    projects: ['*'],
    dialect: postgres,
    ...isManaged,
  },
  'http, with domains that are managed': { tool: openWatchedHttp, ...isManaged },
  'scim, with domains that are managed': { tool: openWatchedScim, ...isManaged },
  'scim, with one group for all': { tool: openWatchedScim, toolOptions: { isOneForAll: true } },
  'scim, with one group for all and domains that are managed': {
    tool: openWatchedScim,
    toolOptions: { isOneForAll: true },
    ...isManaged,
  },
  'label-studio, where people are signed up': { tool: openWatchedLabelStudio, isForGood: true },
  'label-studio, where people are signed up, with domains that are managed': {
    tool: openWatchedLabelStudio,
    ...isManaged,
  },
  'roster, with domains that are managed': { tool: openWatchedRoster, ...isManaged },
  'scim on PostgreSQL': { tool: openWatchedScim, dialect: postgres },
};
const daysAtOnce = 5;

interface Lived extends HostileDayReport {
  name: string;
  mostSteps: number;
}

it('two customers, one of them hostile: the other one feels nothing of two hours of forging', async () => {
  const variants = Object.entries({ ...usual, ...(isThorough && rare) });
  const seeds = Array.from({ length: tries(2) }, (_, index) => index + 1);
  const days = seeds.flatMap((seed) => variants.map(([name, variant]) => ({ name, seed, variant })));
  // Most of a day is waiting: several at once take hardly longer than one.
  const lived = await mapAtOnce(days, daysAtOnce, async ({ name, seed, variant }) => {
    const report = await live(seed, variant);
    return { name: `${name}, seed ${seed}`, mostSteps: variant.mostSteps ?? 0, ...report };
  });
  const tell = (of: (report: Lived) => readonly unknown[]) =>
    lived.flatMap((report) => of(report).map((said) => `${report.name}: ${said}`));
  expect.soft(tell(({ wrong }) => wrong)).toEqual([]);
  // Or nothing was watched.
  expect.soft(Math.min(...lived.map(({ changeCount }) => changeCount))).toBeGreaterThan(50);
  // Mostly within the step they were hired in, so before the clock moved on.
  expect
    .soft(tell(({ stepsToAccess, mostSteps }) => [percentile95(stepsToAccess)].filter((steps) => steps > mostSteps)))
    .toEqual([]);
  // Two turns of the intake, however many stand in line.
  expect.soft(tell(({ overtakenBy }) => [overtakenBy].filter((count) => count > 100))).toEqual([]);
});

async function live(seed: number, { dialect = sqlite, ...more }: Variant): Promise<HostileDayReport> {
  const day: HostileDay = {
    toolOptions: {},
    managedDomains: [],
    projects: ['a-*'],
    mostSteps: 0,
    seed,
    steps: 6,
    forgedEach: isThorough ? 15 : 10,
    // More than may overtake an honest hire.
    flood: isThorough ? 160 : 120,
    ...more,
  };
  return await liveHostileDay(dialect, day);
}

/** 0 where there is nothing. */
function percentile95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
}
