import type { Adapter, Finding } from '../adapters/adapter.ts';
import type { Context, Storage } from '../context.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import { describeOpenWall, findOpenWalls, groupOf, type Walls } from '../memberships/wall.ts';
import { askServer, describeOtherServer, describeTwin, findTwin, locationOf } from '../tools/bind-tool.ts';
import { callTool } from '../tools/call-tool.ts';
import { findToolBinding } from '../tools/tool-binding-store.ts';
import { type Check, failure, nameApart, ok, warning } from './check.ts';

const timeoutMs = 15_000;

/** @param ctx without it, the server of each tool is not compared with the one that its people are in */
export async function examineTools(
  ctx: Storage | undefined,
  { config, adapters }: Pick<Context, 'config' | 'adapters'>,
  signal: AbortSignal,
): Promise<Check[]> {
  const checks = [...adapters].map(async ([tool, adapter]) => [
    ...(await checkTool(tool, adapter, signal)),
    ...(ctx === undefined ? [] : await checkServer(ctx, config.tools, tool, adapter, signal)),
  ]);
  return (await Promise.all(checks)).flat();
}

/** Whether the tool can be reached, and what its removals do. */
export async function checkTool(tool: string, adapter: Adapter, stopping: AbortSignal): Promise<Check[]> {
  const name = `tool ${tool}`;
  let findings: readonly Finding[];
  try {
    findings = await callTool(timeoutMs, stopping, (signal) => adapter.check(signal));
  } catch (error) {
    return [failure(name, error, `Fix tools.${tool} in the configuration, or the tool`)];
  }
  const { removal, readding } = adapter.capabilities;
  const checks = [ok(name, 'Reachable, settings valid')];
  if (removal.effect === 'membership_only') {
    const says = `A removed member may still get in: ${removal.reason}`;
    checks.push(warning(`removals in ${tool}`, says, 'Read in the README of the adapter what locks people out'));
  }
  if (readding === 'no') {
    const action = 'Expect a plan for every removal on weak evidence: gangway plans list';
    checks.push(warning(`returns to ${tool}`, 'A removed member cannot be added again', action));
  }
  const found = findings.map(({ says, action, isFailure }): Check => {
    return { name: `settings of ${tool}`, says, action, status: isFailure ? 'failure' : 'warning' };
  });
  return [...checks, ...nameApart(found)];
}

/** Empty if the tool does not answer, because another check reports that. */
async function checkServer(
  ctx: Storage,
  tools: Context['config']['tools'],
  tool: string,
  adapter: Adapter,
  signal: AbortSignal,
): Promise<Check[]> {
  const bound = await findToolBinding(ctx, tool);
  const server = await askTool(adapter, tools.get(tool)?.settings ?? {}, signal).catch(() => undefined);
  if (server === undefined) return [];
  const action = 'Settle which server is right. Until then no member is added or removed in the tool';
  const fail = (why: string) => [failure(`server of ${tool}`, new Error(why), action)];
  if (bound !== undefined && isOtherServer(bound, server)) return fail(describeOtherServer(tool, bound, server));
  const twin = await findTwin(ctx, new Set(tools.keys()), tool, server);
  return twin === undefined ? [] : fail(describeTwin(tool, twin));
}

/** The server at the address of a tool. */
export function askTool(adapter: Adapter, settings: object, stopping: AbortSignal): Promise<Server> {
  return callTool(timeoutMs, stopping, (signal) => askServer(adapter, locationOf(settings), signal));
}

/** Whether customers of one tool are walled off from each other. */
export function checkWalls(walls: Walls): Check[] {
  const found = [...checkSharedGroups(walls), ...checkOpenWalls(walls)];
  return found.length === 0 ? [ok('walls', 'No customer reaches projects of another')] : found;
}

function checkOpenWalls({ installs }: Walls): Check[] {
  return findOpenWalls(installs).map((wall) => {
    const action = `Name the projects of ${wall.install} instead of "*"`;
    return warning(`projects of ${wall.install}`, describeOpenWall(wall), action);
  });
}

/** In a tool with one group, a trainer is in the projects of all customers. */
function checkSharedGroups({ installs, adapters }: Walls): Check[] {
  const byTool = Map.groupBy([...installs], ([, { tool }]) => tool);
  return [...byTool].flatMap(([tool, sharing]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined || sharing.length < 2 || !hasOneGroup(adapter)) return [];
    const names = sharing.map(([name]) => name).join(', ');
    const says = `${names} share ${tool}, which has one group for all projects, so nothing separates them in it`;
    return [warning(`groups of ${tool}`, says, 'Give each customer a tool of its own if they must not meet')];
  });
}

function hasOneGroup(adapter: Adapter): boolean {
  const [one, other] = ['1', '2'].map((externalProjectId) =>
    groupOf(adapter, { install: '', externalProjectId, externalProjectName: null }),
  );
  return one !== undefined && one === other;
}
