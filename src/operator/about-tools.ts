import { isOfHiddenMembers } from '../converge/converge-steps.ts';
import {
  listToolTroubles,
  listWaitingOfTools,
  nameWaitingOfTool,
  type WaitingMemberships,
} from '../converge/tool-trouble-store.ts';
import { adviseOnTrouble, describeToolTrouble, isTroubleCurrent, type ToolTrouble } from '../domain/tool-trouble.ts';
import type { Storage } from '../keys/storage.ts';
import type { Attention } from './attention.ts';

/** What running instances know of the tools, and which trainers wait for a tool. */
export interface ToolStanding {
  tool: string;
  /** Null where calls to the tool are not paused. */
  trouble: ToolTrouble | null;
  /** Trainers whose call is due, or will be repeated. */
  waiting: number;
  /** Some of them, by id. */
  trainers: string[];
  waitsSince: string | null;
  /** The answer that most of those got that got one. */
  failure: string | null;
}

/** A call that takes longer than usual is no trouble; a trainer who waits for longer than this is. */
export const patienceMs = 2 * 60_000;
const named = 3;

export async function loadTools(ctx: Storage, now: Date): Promise<{ tools: ToolStanding[]; attention: Attention[] }> {
  const troubles = (await listToolTroubles(ctx)).filter((trouble) => isTroubleCurrent(trouble, now));
  const waiting = Map.groupBy(await listWaitingOfTools(ctx), ({ tool }) => tool);
  const names = [...new Set([...troubles.map(({ tool }) => tool), ...waiting.keys()])].sort();
  const tools: ToolStanding[] = [];
  const attention: Attention[] = [];
  for (const tool of names) {
    const trouble = troubles.find((one) => one.tool === tool) ?? null;
    const all = waiting.get(tool) ?? [];
    const trainers = all.length === 0 ? [] : await nameWaitingOfTool(ctx, tool, named);
    const standing = toStanding({ tool, trouble, trainers }, all);
    tools.push(standing);
    attention.push(...aboutTool(standing, all, now));
  }
  return { tools, attention };
}

function toStanding(
  known: Pick<ToolStanding, 'tool' | 'trouble' | 'trainers'>,
  all: readonly WaitingMemberships[],
): ToolStanding {
  const [most] = all.filter(({ failure }) => failure !== null).sort((a, b) => b.count - a.count);
  const [waitsSince = null] = all.map(({ since }) => since).sort();
  return { ...known, waiting: count(all), waitsSince, failure: most?.failure ?? null };
}

/** Pure. */
function aboutTool(standing: ToolStanding, all: readonly WaitingMemberships[], now: Date): Attention[] {
  const { tool, trouble } = standing;
  if (trouble !== null) {
    const who = all.length === 0 ? 'no trainer waits for it now' : sayWho(standing, all);
    return [
      {
        says: `${tool} ${describeToolTrouble(trouble)}: ${trouble.message}; ${who}`,
        action: adviseOnTrouble(trouble),
        page: waitingPage(tool),
      },
    ];
  }
  return [...aboutHidden(tool, all), ...aboutSlow(standing, all, now)];
}

/** Nothing proves who is in, so an operator has to look. */
function aboutHidden(tool: string, all: readonly WaitingMemberships[]): Attention[] {
  const hidden = count(all.filter(({ failure }) => isOfHiddenMembers(failure)));
  if (hidden === 0) return [];
  return [
    {
      says: `${tool} does not show who is in a group: memberships that are unproven: ${hidden}`,
      action: `let its token read who is in a group, and see in ${tool} who is in: gangway doctor`,
      page: waitingPage(tool),
    },
  ];
}

function aboutSlow(standing: ToolStanding, all: readonly WaitingMemberships[], now: Date): Attention[] {
  const { tool } = standing;
  // A tool that refuses a trainer is reported by the state of the membership.
  const stuck = all.filter(({ isRefused, since }) => !isRefused && now.getTime() - Date.parse(since) >= patienceMs);
  if (stuck.length === 0) return [];
  const slow = toStanding(standing, stuck);
  const why = slow.failure === null ? '' : `; most got the answer: ${slow.failure}`;
  return [
    {
      says: `${tool} is slow, or fails for some, since ${slow.waitsSince}; ${sayWho(slow, stuck)}${why}`,
      action: `see how it is: gangway doctor; who waits: gangway members --tool ${tool} --state pending (or removing)`,
      page: waitingPage(tool),
    },
  ];
}

function waitingPage(tool: string): string {
  return `/access?${new URLSearchParams({ tool, state: 'pending' })}`;
}

function sayWho({ waiting, trainers }: ToolStanding, all: readonly WaitingMemberships[]): string {
  const out = count(all.filter(({ isWanted }) => !isWanted));
  const shown = trainers.slice(0, waiting);
  const rest = waiting > shown.length ? ', …' : '';
  const parts = [
    waiting > out && `${waiting - out} to get in`,
    out > 0 && `${out} to be taken out, who are still in`,
  ].filter((part) => part !== false);
  return `who waits for it: ${waiting} (${parts.join(', ')}): ${shown.join(', ')}${rest}`;
}

function count(all: readonly WaitingMemberships[]): number {
  return all.reduce((sum, one) => sum + one.count, 0);
}
