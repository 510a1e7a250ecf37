import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import { sayCount } from '../lib/text.ts';
import type { TroubleKind } from '../lib/trouble-rules.ts';
import type { TroubleFacts } from '../lib/troubles.ts';
import { listUsageTroubles, type UsageTrouble } from '../usage/due/trouble-store.ts';
import { listFallenTotals, listScopes } from '../usage/read/scope-store.ts';

/** A reading that fails once or twice is repeated by itself, and no operator has to act. */
export const worryingFailures = 3;

interface Reported extends Storage {
  installs: ReadonlyMap<string, { tool: string }>;
}

type Found = Promise<TroubleFacts[]>;

/** Work that is not reported, not read, or not counted. */
export async function findWorkTroubles(ctx: Reported): Found {
  return [...(await findHeldWork(ctx)), ...(await findUncounted(ctx)), ...(await findUnreadScopes(ctx))];
}

/** For held work of no single install its name is empty. */
function toHeldWork({ kind, install, days, seconds, oldest }: UsageTrouble): TroubleFacts {
  const hours = toHours(seconds);
  const detail = `${hours === 0 ? '' : `${sayCount(hours, 'hour')}, `}the oldest of ${oldest}`;
  const names = { day: oldest, of: install === '' ? ' of no single install' : ` of ${install}` };
  return { kind: `usage_${kind}`, install: install || null, count: days, detail, names };
}

export function toHours(seconds: number): number {
  return Math.round(seconds / 360) / 10;
}

/** Work that is not paid, or may be paid wrongly, before an operator acts. */
async function findHeldWork(ctx: Reported): Found {
  const troubles = await listUsageTroubles(ctx);
  return troubles.filter(({ install }) => install === '' || ctx.installs.has(install)).map(toHeldWork);
}

/** Work that is read, but not completely. */
async function findUncounted(ctx: Reported): Found {
  const fallen = Map.groupBy(await listFallenTotals(ctx), ({ tool, scope }) => JSON.stringify([tool, scope]));
  return [
    ...(await scopesOf(ctx)).flatMap(({ tool, scope, gap, gapSince }): TroubleFacts[] =>
      gap === null ? [] : [{ kind: 'usage_gap', tool, since: gapSince, detail: gap, about: { scope } }],
    ),
    ...[...fallen.values()].flatMap((some) =>
      some.slice(0, 1).map(({ tool, scope, since }): TroubleFacts => {
        return { kind: 'usage_fallen', tool, since, count: some.length, about: { scope } };
      }),
    ),
  ];
}

async function scopesOf(ctx: Reported): Promise<Row<'usageScope'>[]> {
  const tools = new Set([...ctx.installs.values()].map(({ tool }) => tool));
  return (await listScopes(ctx)).filter(({ tool }) => tools.has(tool));
}

async function findUnreadScopes(ctx: Reported): Found {
  const failing = (await scopesOf(ctx)).filter(
    ({ failingSince, failure }) => failingSince !== null && failure !== null,
  );
  const isWorrying = ({ attempts }: Row<'usageScope'>) => attempts >= worryingFailures;
  const gone = failing.filter(({ goneSince }) => goneSince !== null);
  const others = failing.filter(({ goneSince }) => goneSince === null);
  const [never, before] = [true, false].map((isNew) =>
    others.filter(({ readBeganAt }) => (readBeganAt === null) === isNew),
  );
  return [
    ...perTool(gone, 'usage_gone'),
    ...perTool(never ?? [], 'usage_never_read'),
    ...perTool((before ?? []).filter(isWorrying), 'usage_unread'),
  ];
}

const mostScopes = 5;

function perTool(scopes: readonly Row<'usageScope'>[], kind: TroubleKind): TroubleFacts[] {
  return [...Map.groupBy(scopes, ({ tool }) => tool)].map(([tool, some]) => {
    const named = some.slice(0, mostScopes).map(({ scope }) => scope);
    const more = some.length > mostScopes ? ` and ${some.length - mostScopes} more` : '';
    const [since = null] = some.map((one) => one.goneSince ?? one.readBeganAt ?? one.failingSince ?? '').sort();
    const names = { scopes: `${named.join(', ')}${more}` };
    return { kind, tool, since, count: some.length, detail: some[0]?.failure ?? null, names };
  });
}
