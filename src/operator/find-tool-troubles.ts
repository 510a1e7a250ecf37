import {
  listToolTroubles,
  listWaitingOfTools,
  nameWaitingOfTool,
  type WaitingMemberships,
} from '../converge/tool-trouble-store.ts';
import { isOfHiddenMembers, isTroubleCurrent, sayToolProblem } from '../domain/tool-trouble.ts';
import type { Storage } from '../keys/storage.ts';
import { sayCount } from '../lib/text.ts';
import type { TroubleFacts } from '../lib/troubles.ts';

/** A call that takes longer than usual is no trouble; a trainer who waits for longer than this is. */
const patienceMs = 2 * 60_000;
const mostNamed = 3;

/** @param isAnyRunning while no instance runs, everything waits for one, and that is no trouble of a tool */
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
    const trainers = await nameWaitingOfTool(ctx, facts.tool ?? '', mostNamed);
    const more = (facts.count ?? 0) > trainers.length ? ', …' : '';
    const names = trainers.length > 0 && `Waiting: ${trainers.join(', ')}${more}`;
    facts.detail = [facts.detail, names].filter(Boolean).join('. ') || null;
  }
  return [...hidden, ...found];
}

/** Nothing proves who is in, so an operator has to look. */
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
