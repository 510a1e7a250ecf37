import type { Storage } from '../context.ts';
import {
  listToolTroubles,
  listWaitingOfTools,
  nameWaitingOfTool,
  type WaitingMemberships,
} from '../converge/tool-trouble-store.ts';
import { isOfHiddenMembers, isTroubleCurrent, sayToolProblem } from '../domain/tool-trouble.ts';
import { sayCount } from '../lib/text.ts';
import { isAlert, isRaised, type TroubleFacts, type TroubleKind, toTrouble } from '../lib/troubles.ts';
import { listOpenAlerts, type StoredAlert } from '../notify/alert-store.ts';
import { listUsageTroubles, type UsageTrouble } from '../usage/due/unpaid-store.ts';
import { type ListedScope, listScopes } from '../usage/read/scope-store.ts';
import { listFallenTotals } from '../usage/read/total-store.ts';

/** A slow call is no trouble until a trainer has waited for this long. */
const patienceMs = 2 * 60_000;
const mostTrainers = 3;

/** @param isAnyRunning without an instance everything waits for one, so no tool is blamed */
export async function findToolTroubles(ctx: Storage, now: Date, isAnyRunning: boolean): Promise<TroubleFacts[]> {
  const waiting = Map.groupBy(await listWaitingOfTools(ctx), ({ tool }) => tool);
  const hidden = [...waiting].flatMap(([tool, all]) => findHidden(tool, all));
  if (!isAnyRunning) return hidden;
  const down = (await listToolTroubles(ctx)).filter((trouble) => isTroubleCurrent(trouble, now));
  const others = [...waiting.keys()].filter((name) => ![...down, ...hidden].some(({ tool }) => tool === name));
  const found = [
    ...down.map((trouble): TroubleFacts => {
      const { tool, since, message, asksAgainAt } = trouble;
      const facts = sumUp(waiting.get(tool) ?? [], sayToolProblem(trouble));
      return { kind: 'tool_left_alone', tool, ...facts, since, detail: `${message}. Next try at ${asksAgainAt}` };
    }),
    ...others.flatMap((tool) => findSlow(tool, waiting.get(tool) ?? [], now)),
  ];
  for (const facts of found) {
    const trainers = await nameWaitingOfTool(ctx, facts.tool ?? '', mostTrainers);
    const more = (facts.count ?? 0) > trainers.length ? ', …' : '';
    const names = trainers.length > 0 && `Waiting: ${trainers.join(', ')}${more}`;
    facts.detail = [facts.detail, names].filter(Boolean).join('. ') || null;
  }
  return [...hidden, ...found];
}

/** Tools that do not show their members, so an operator has to look who is in. */
function findHidden(tool: string, all: readonly WaitingMemberships[]): TroubleFacts[] {
  const hidden = all.filter(({ failure }) => isOfHiddenMembers(failure));
  return hidden.length === 0 ? [] : [{ kind: 'members_hidden', tool, ...sumUp(hidden) }];
}

function findSlow(tool: string, all: readonly WaitingMemberships[], now: Date): TroubleFacts[] {
  // A tool that refuses a trainer is reported by the state of the membership.
  const stuck = all.filter(({ isRefused, since }) => !isRefused && now.getTime() - Date.parse(since) >= patienceMs);
  const [most] = stuck.filter(({ failure }) => failure !== null).sort((a, b) => b.count - a.count);
  const detail = most === undefined ? null : `Most got the answer: ${most.failure}`;
  return stuck.length === 0 ? [] : [{ kind: 'tool_slow', tool, ...sumUp(stuck), detail }];
}

/** How many wait for a tool, since when, and for what. */
function sumUp(all: readonly WaitingMemberships[], problem = '') {
  const [since = null] = all.map((one) => one.since).sort();
  const entering = countOf(all.filter(({ isWanted }) => isWanted));
  const leaving = countOf(all) - entering;
  const who = [
    entering > 0 ? ` ${sayCount(entering, 'trainer')} cannot get in.` : '',
    leaving > 0 ? ` ${sayCount(leaving, 'trainer')} who should be out ${leaving === 1 ? 'is' : 'are'} still in.` : '',
  ].join('');
  return { since, count: countOf(all), names: { who, problem } };
}

function countOf(all: readonly WaitingMemberships[]): number {
  return all.reduce((sum, one) => sum + one.count, 0);
}

/** What fails once or twice is repeated, and no operator has to act. */
export const worryingFailures = 3;

interface Reported extends Storage {
  installs: ReadonlyMap<string, { tool: string }>;
}

type Found = Promise<TroubleFacts[]>;

/** Work that is not reported, not read, or not counted. */
export async function findWorkTroubles(ctx: Reported): Found {
  return [...(await findHeldWork(ctx)), ...(await findUncounted(ctx)), ...(await findUnreadScopes(ctx))];
}

/** Work that is not paid, or may be paid wrongly, before an operator acts. */
async function findHeldWork(ctx: Reported): Found {
  const troubles = await listUsageTroubles(ctx);
  return troubles.filter(({ install }) => install === '' || ctx.installs.has(install)).map(toHeldWork);
}

/** The install is empty for held work that may belong to several installs, or to none. */
function toHeldWork({ kind, install, days, seconds, oldest }: UsageTrouble): TroubleFacts {
  const hours = toHours(seconds);
  const detail = `${hours === 0 ? '' : `${sayCount(hours, 'hour')}, `}the oldest of ${oldest}`;
  const names = { day: oldest, of: install === '' ? ' of no single install' : ` of ${install}` };
  return { kind: `usage_${kind}`, install: install || null, count: days, detail, names };
}

export function toHours(seconds: number): number {
  return Math.round(seconds / 360) / 10;
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

async function scopesOf(ctx: Reported): Promise<ListedScope[]> {
  const tools = new Set([...ctx.installs.values()].map(({ tool }) => tool));
  return (await listScopes(ctx)).filter(({ tool }) => tools.has(tool));
}

async function findUnreadScopes(ctx: Reported): Found {
  const failing = (await scopesOf(ctx)).filter(
    ({ failingSince, failure }) => failingSince !== null && failure !== null,
  );
  const { gone, never, unread } = Object.groupBy(failing, ({ goneSince, readBeganAt, attempts }) => {
    if (goneSince !== null) return 'gone';
    if (readBeganAt === null) return 'never';
    return attempts < worryingFailures ? 'recent' : 'unread';
  });
  return [...perTool(gone, 'usage_gone'), ...perTool(never, 'usage_never_read'), ...perTool(unread, 'usage_unread')];
}

const mostScopes = 5;

function perTool(scopes: readonly ListedScope[] = [], kind: TroubleKind): TroubleFacts[] {
  return [...Map.groupBy(scopes, ({ tool }) => tool)].map(([tool, some]) => {
    const named = some.slice(0, mostScopes).map(({ scope }) => scope);
    const more = some.length > mostScopes ? ` and ${some.length - mostScopes} more` : '';
    const [since = null] = some.map((one) => one.goneSince ?? one.readBeganAt ?? one.failingSince ?? '').sort();
    const names = { scopes: `${named.join(', ')}${more}` };
    return { kind, tool, since, count: some.length, detail: some[0]?.failure ?? null, names };
  });
}

const mostNamed = 5;
const mostRead = 1000;

/**
 * What no query finds: open alerts that code has raised. The first few of a kind, install and tool are named, the others
 * counted.
 */
export async function findRaised(ctx: Storage): Promise<TroubleFacts[]> {
  const raised = (await findOpenAlerts(ctx)).filter(({ kind }) => isRaised(kind));
  const groups = Map.groupBy(raised, ({ kind, install, tool }) => JSON.stringify([kind, install, tool]));
  return [...groups.values()].flatMap((some) => [
    ...some.slice(0, mostNamed),
    ...some.slice(mostNamed, mostNamed + 1).map(({ kind, install = null, tool = null, since = null }): TroubleFacts => {
      const count = some.length - mostNamed;
      return { kind, install, tool, since, count, detail: `And ${count} more` };
    }),
  ]);
}

/** The open alerts, as the last look of an instance left them. */
export async function findOpenAlerts(ctx: Storage): Promise<TroubleFacts[]> {
  const open = await listOpenAlerts(ctx, { after: 0, limit: mostRead });
  return open.flatMap((row) => (isAlert(row.kind) ? [toFacts({ ...row, kind: row.kind })] : []));
}

function toFacts({ kind, about, message, count, raisedAt }: StoredAlert & { kind: TroubleKind }): TroubleFacts {
  const { install = null, tool = null, url = null, ...ids } = about;
  const facts = { kind, install, tool, url, count, since: raisedAt, about: ids };
  const { says } = toTrouble(facts);
  const more = message.startsWith(says) ? message.slice(says.length).trim() : message;
  const named = Object.entries(ids).map(([name, id]) => `${name} ${id}`);
  return { ...facts, detail: [more, named.join(', ')].filter(Boolean).join('. ') || null };
}
