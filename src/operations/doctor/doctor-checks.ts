import type { Adapter, Finding } from '../../adapters/adapter.ts';
import type { Config } from '../../config/config-schema.ts';
import type { Database } from '../../db/database.ts';
import { measureAheadMs } from '../../db/database-clock.ts';
import { toAppError } from '../../domain/errors.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import type { Clock } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { sayCount } from '../../lib/say-count.ts';
import type { Orphan } from '../../memberships/find-orphans.ts';
import { describeOpenWall, findOpenWalls, groupOf, outsideOf, type Walls } from '../../memberships/wall.ts';
import { callTool } from '../../tools/call-tool.ts';
import { explainCrossing } from '../explain/explain-crossing.ts';

/** The result of one check. */
export interface Check {
  /** Unique among all checks. */
  name: string;
  status: 'ok' | 'warning' | 'failure';
  /** One sentence. */
  says: string;
  /** An imperative; null where there is nothing to do. */
  action: string | null;
}

export function ok(name: string, says: string): Check {
  return { name, status: 'ok', says, action: null };
}

export function warning(name: string, says: string, action: string): Check {
  return { name, status: 'warning', says, action };
}

export function failure(name: string, error: unknown, action: string): Check {
  const says = maskText(toAppError(error).message);
  return { name, status: 'failure', says, action };
}

/** Numbers the checks that would have the same name. */
export function nameApart(checks: readonly Check[]): Check[] {
  const counts = new Map<string, number>();
  return checks.map((check) => {
    const count = (counts.get(check.name) ?? 0) + 1;
    counts.set(check.name, count);
    return count === 1 ? check : { ...check, name: `${check.name} (${count})` };
  });
}

/** @param warnings each with its key in front */
export function checkConfiguration(
  { installs, tools }: Record<'installs' | 'tools', ReadonlyMap<string, unknown>>,
  warnings: readonly string[],
): Check[] {
  const stored = installs.size === 0 ? 'installs are stored in the database' : sayCount(installs.size, 'install');
  return nameApart([
    ok('configuration', `${sayCount(tools.size, 'tool')}; ${stored}`),
    ...warnings.map((line) => warning('configuration', line, 'Change it, unless it is intended')),
  ]);
}

const tolerableMs = 5_000;

export async function checkClock(database: Database, clock: Clock): Promise<Check> {
  const aheadMs = await measureAheadMs(database, clock);
  const says = `The database's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(aheadMs) <= tolerableMs) return ok('clock', says);
  return warning('clock', says, 'Keep both clocks right by NTP. Signatures are refused beyond 300 s');
}

const checkTimeoutMs = 15_000;

/** Whether the tool can be reached, and what an operator should know of its removals. */
export async function checkTool(tool: string, adapter: Adapter, stopping: AbortSignal): Promise<Check[]> {
  const name = `tool ${tool}`;
  let findings: readonly Finding[];
  try {
    const call = (signal: AbortSignal) => adapter.check(signal);
    findings = await callTool(checkTimeoutMs, stopping, call);
  } catch (error) {
    return [failure(name, error, `Fix tools.${tool} in the configuration, or the tool`)];
  }
  const { removal, readding } = adapter.capabilities;
  const warnings = [
    removal.effect === 'membership_only' &&
      warning(
        `removals in ${tool}`,
        `A removed member may still get in: ${removal.reason}`,
        'Read in the README of the adapter what locks people out',
      ),
    readding === 'no' &&
      warning(
        `returns to ${tool}`,
        'A removed member cannot be added again',
        'Expect a plan for every removal on weak evidence: gangway plans list',
      ),
  ];
  return [
    ok(name, 'Reachable, settings valid'),
    ...warnings.filter((one) => one !== false),
    ...nameApart(
      findings.map(({ says, action, isFailure }): Check => {
        return { name: `settings of ${tool}`, says, action, status: isFailure ? 'failure' : 'warning' };
      }),
    ),
  ];
}

export function checkOrphaned(orphans: Orphan[]): Check {
  if (orphans.length === 0) return ok('orphans', 'The configuration covers every member in a tool');
  const installs = [...new Set(orphans.map(({ install }) => install))].join(', ');
  return {
    name: 'orphans',
    status: 'failure',
    says: `The configuration no longer covers ${sayCount(orphans.length, 'member')} of ${installs}`,
    action: 'Put the name of the install, tool or project back, or start with --accept-orphans',
  };
}

/** Links that a customer made outside their projects, and tools without walls. */
export function checkWalls(walls: Walls, links: LinkEvidence[]): Check[] {
  const found = [...checkLinks(walls, links), ...checkSharedGroups(walls), ...checkOpenWalls(walls)];
  return found.length === 0 ? [ok('walls', 'Every link is to a project of its install')] : found;
}

function checkLinks(walls: Walls, links: LinkEvidence[]): Check[] {
  return links
    .filter((link) => statusOfLink(link) === 'live')
    .flatMap((link) => {
      const { install, linkId } = link;
      const crossing = outsideOf(walls, link);
      if (crossing === null) return [];
      const { says, action } = explainCrossing(crossing, link);
      const asking = crossing === 'not_named' ? `${action}, or ask them why` : action;
      return [warning(`link ${linkId} of ${install}`, `${says}, so its link gives no access`, asking)];
    });
}

function checkOpenWalls({ installs }: Walls): Check[] {
  return findOpenWalls(installs).map((wall) =>
    warning(
      `projects of ${wall.install}`,
      describeOpenWall(wall),
      `Name the projects of ${wall.install} instead of "*"`,
    ),
  );
}

/** A trainer in such a tool is in what every customer of it has. */
function checkSharedGroups({ installs, adapters }: Walls): Check[] {
  const byTool = Map.groupBy([...installs], ([, { tool }]) => tool);
  return [...byTool].flatMap(([tool, sharing]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined || sharing.length < 2 || !hasOneGroup(adapter)) return [];
    const names = sharing.map(([name]) => name).join(', ');
    const says = `${names} share ${tool}, which has one group for all projects, so nothing separates them in it`;
    const action = 'Give each customer a tool of its own if they must not meet';
    return [warning(`groups of ${tool}`, says, action)];
  });
}

function hasOneGroup(adapter: Adapter): boolean {
  const [one, other] = ['1', '2'].map((externalProjectId) =>
    groupOf(adapter, { install: '', externalProjectId, externalProjectName: null }),
  );
  return one !== undefined && one === other;
}

type Notifications = Config['notifications'];
type Channel = Notifications['channels'] extends Map<string, infer Value> ? Value : never;

const hourMs = 3_600_000;

/** The channels as configured; nothing is sent. */
export function checkChannels({ channels, repeatMs }: Notifications): Check[] {
  if (channels.size === 0) return [];
  const says = `${sayCount(channels.size, 'channel')}; notices of unchanged budgets repeat after ${repeatMs / hourMs} h`;
  return [
    ok('notifications', says),
    ...[...channels].map(([name, channel]) => ok(`channel ${name}`, sayChannel(channel))),
  ];
}

/** Only the host of a URL: the rest may be a secret that allows to post there. */
function sayChannel(channel: Channel): string {
  const how = 'valid; "gangway notifications test" sends a message';
  if (channel.type === 'mail')
    return `Mail to ${sayCount(channel.to.length, 'address', 'addresses')} by mail.smtp: ${how}`;
  return `${channel.type} at ${new URL(channel.url).host}: ${how}`;
}
