import type { Adapter, Finding } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import { measureAheadMs } from '../db/database-clock.ts';
import { toAppError } from '../domain/errors.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { statusOfLink } from '../domain/evidence-status.ts';
import type { Clock } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { Orphan } from '../memberships/find-orphans.ts';
import { describeOpenWall, findOpenWalls, groupOf, outsideOf, type Walls } from '../memberships/wall.ts';
import { callTool } from '../tools/call-tool.ts';
import { explainCrossing } from './explain-crossing.ts';

/** The result of one check: how it is, what that means, and what to do. */
export interface Check {
  name: string;
  status: 'ok' | 'warning' | 'failure';
  says: string;
  /** Null where there is nothing to do. */
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

const tolerableMs = 5_000;

export async function checkClock(database: Database, clock: Clock): Promise<Check> {
  const aheadMs = await measureAheadMs(database, clock);
  const says = `the database's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(aheadMs) <= tolerableMs) return ok('clock', says);
  return warning('clock', says, 'let both machines keep time by NTP: signatures are refused over 300 s');
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
    return [failure(name, error, `mend the settings under tools.${tool}, or the tool itself`)];
  }
  const { removal, readding } = adapter.capabilities;
  const warnings = [
    removal.effect === 'membership_only' &&
      warning(
        name,
        `a removed member may still get in: ${removal.reason}`,
        'see the README of the adapter for what locks people out',
      ),
    readding === 'no' &&
      warning(
        name,
        'a removed member cannot be added again',
        'expect a plan for every removal on weak evidence: gangway plans list',
      ),
  ];
  return [
    ok(name, 'answers, and the settings suffice'),
    ...warnings.filter((one) => one !== false),
    ...findings.map(
      ({ says, action, isFailure }): Check => ({ name, says, action, status: isFailure ? 'failure' : 'warning' }),
    ),
  ];
}

export function checkOrphaned(orphans: Orphan[]): Check {
  if (orphans.length === 0) return ok('orphans', 'the configuration leads to every member in a tool');
  const installs = [...new Set(orphans.map(({ install }) => install))].join(', ');
  return {
    name: 'orphans',
    status: 'failure',
    says: `the configuration no longer leads to every member in a tool: ${orphans.length} of ${installs}`,
    action: 'give the install, the tool or the project its name back, or start with --accept-orphans',
  };
}

/** Links that a customer made outside their projects, and tools without walls. */
export function checkWalls(walls: Walls, links: LinkEvidence[]): Check[] {
  const found = [...checkLinks(walls, links), ...checkSharedGroups(walls), ...checkOpenWalls(walls)];
  return found.length === 0 ? [ok('walls', 'every link is on a project of its install')] : found;
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
      return [warning('walls', `Link ${linkId} of ${install} gives no access. ${says}`, asking)];
    });
}

function checkOpenWalls({ installs }: Walls): Check[] {
  return findOpenWalls(installs).map((wall) =>
    warning('walls', describeOpenWall(wall), `name the projects of ${wall.install} in place of "*"`),
  );
}

/** A trainer in such a tool is in what every customer of it has. */
function checkSharedGroups({ installs, adapters }: Walls): Check[] {
  const byTool = Map.groupBy([...installs], ([, { tool }]) => tool);
  return [...byTool].flatMap(([tool, sharing]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined || sharing.length < 2 || !hasOneGroup(adapter)) return [];
    const names = sharing.map(([name]) => name).join(', ');
    const says = `${names} share the tool ${tool}, which has one group for all projects: there are no walls between them in it`;
    const action = 'give each customer a tool of its own where they must not meet';
    return [warning('walls', says, action)];
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
  const says = `channels: ${channels.size}; a budget that stays as it is gets another notice after ${repeatMs / hourMs} h`;
  return [
    ok('notifications', says),
    ...[...channels].map(([name, channel]) => ok(`channel ${name}`, sayChannel(channel))),
  ];
}

/** Only the host of a URL: the rest may be a secret that allows to post there. */
function sayChannel(channel: Channel): string {
  const how = 'is well-formed; "gangway notifications test" sends something';
  if (channel.type === 'mail') return `mail to ${channel.to.length} by mail.smtp ${how}`;
  return `${channel.type} at ${new URL(channel.url).host} ${how}`;
}
