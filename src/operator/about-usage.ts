import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import { sayCount } from '../lib/say-count.ts';
import { listUsageTroubles, type UsageTrouble, type UsageTroubleKind } from '../usage/due/trouble-store.ts';
import { listScopes } from '../usage/read/scope-store.ts';
import { type FallenTotal, listFallenTotals } from '../usage/read/work-store.ts';
import { toHours } from '../usage/report/usage-alerts.ts';
import { type Attention, worryingFailures } from './attention.ts';

/**
 * What an operator has to look at in the work that is read.
 *
 * @param configured the existing installs
 */
export async function aboutUsage(
  ctx: Storage,
  configured: ReadonlyMap<string, { tool: string }>,
): Promise<Attention[]> {
  const tools = new Set([...configured.values()].map(({ tool }) => tool));
  const scopes = await listScopes(ctx);
  const troubles = await listUsageTroubles(ctx);
  return [
    ...troubles.filter(({ install }) => install === '' || configured.has(install)).map(aboutTrouble),
    ...aboutCounts(
      scopes.filter(({ tool }) => tools.has(tool)),
      await listFallenTotals(ctx),
    ),
    ...aboutScopes(scopes.filter(({ tool }) => tools.has(tool))),
  ];
}

interface TroubleText {
  /** What comes before and after `work of acme`. */
  says: (work: string) => string;
  action: string;
  page: string;
}

const troubleTexts: Record<UsageTroubleKind, TroubleText> = {
  held: {
    says: (work) => `held ${work}`,
    action: 'gangway usage held lists it; assign or discard each',
    page: '/work/held',
  },
  lowering: {
    says: (work) => `${work} that would be reported lower, held`,
    action: 'gangway usage held lists it; gangway usage report --accept-lowered sends it',
    page: '/work/held',
  },
  refused: {
    says: (work) => `${work} that the marketplace refuses`,
    action: 'gangway usage check lists it; gangway usage show <contract> has the answer',
    page: '/work',
  },
  late: {
    says: (work) => `${work} that changed after its day was sent for the last time`,
    action: 'gangway usage held lists it; send or dismiss each',
    page: '/work/held',
  },
};

function aboutTrouble({ kind, install, days, seconds, oldest }: UsageTrouble): Attention {
  const { says, action, page } = troubleTexts[kind];
  const hours = toHours(seconds);
  const sums = [sayCount(days, 'day'), ...(hours === 0 ? [] : [sayCount(hours, 'hour')]), `the oldest of ${oldest}`];
  const work = install === '' ? 'work of no single install' : `work of ${install}`;
  const query = kind === 'refused' ? `?${new URLSearchParams({ install, from: oldest })}` : '';
  return { says: `${says(work)}: ${sums.join(', ')}`, action, page: `${page}${query}` };
}

/** Work that is read, but not completely. */
function aboutCounts(scopes: readonly Row<'usageScope'>[], fallen: readonly FallenTotal[]): Attention[] {
  const gaps = scopes.flatMap(({ tool, scope, gap, gapSince }) =>
    gap === null ? [] : [{ tool, scope, gap, gapSince }],
  );
  return [
    ...gaps.map(({ tool, scope, gap, gapSince }) => ({
      says: `not all of the work at ${scope} in ${tool} can be counted since ${gapSince}: ${gap}`,
      action: 'mend that in the tool; what was counted so far stays, and the rest is made up for',
    })),
    ...[...Map.groupBy(fallen, ({ tool, scope }) => `${scope} in ${tool}`)].map(([at, some]) => ({
      says: `people whose total at ${at} is below what was counted, as work was taken back or deleted: ${some.length}`,
      action: 'gangway usage show <contract> says how much: so much of what they do next does not count',
      page: '/work',
    })),
  ];
}

function aboutScopes(scopes: readonly Row<'usageScope'>[]): Attention[] {
  const failing = scopes.filter(({ failingSince, failure }) => failingSince !== null && failure !== null);
  const gone = failing.filter(({ goneSince }) => goneSince !== null);
  const others = failing.filter(({ goneSince }) => goneSince === null);
  const never = others.filter(({ readBeganAt }) => readBeganAt === null);
  const old = others.filter(
    ({ readBeganAt, attempts, alertedAt }) =>
      readBeganAt !== null && (attempts >= worryingFailures || alertedAt !== null),
  );
  const again = 'see that its account may read them; it is tried again by itself';
  return [
    ...perTool(gone, (tool, named) => ({
      says: `${tool} says that scopes of work are not there: ${named}`,
      action: 'gangway links list says which links lead there: bring the project back, or remove the link',
      page: '/installs',
    })),
    ...perTool(never, (tool, named) => ({
      says: `scopes of ${tool} whose work could never be read: ${named}`,
      action: again,
    })),
    ...perTool(old, (tool, named) => ({
      says: `scopes of ${tool} whose work cannot be read at present: ${named}`,
      action: again,
    })),
  ];
}

const mostNamed = 5;

function perTool(scopes: readonly Row<'usageScope'>[], say: (tool: string, named: string) => Attention): Attention[] {
  return [...Map.groupBy(scopes, ({ tool }) => tool)].map(([tool, some]) => {
    const named = some.slice(0, mostNamed).map(({ scope, readBeganAt, failingSince, failure }) => {
      const since = readBeganAt === null ? failingSince : readBeganAt;
      return `${scope} (since ${since}: ${failure ?? 'no answer'})`;
    });
    const more = some.length > mostNamed ? `, and ${some.length - mostNamed} more` : '';
    return say(tool, `${named.join(', ')}${more}`);
  });
}
