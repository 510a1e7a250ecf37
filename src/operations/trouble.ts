import { z } from 'zod';
import type { Storage } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { type Instance, isInstanceRunning, listInstances, silentSince } from '../db/instance-store.ts';
import { readSetting } from '../db/setting-store.ts';
import type { Clock } from '../lib/clock.ts';
import { severities } from '../lib/raised-trouble-rules.ts';
import { paint } from '../lib/tone.ts';
import { type TroubleFacts, toTrouble, troubleKinds } from '../lib/troubles.ts';
import { sayAge } from '../lib/units.ts';
import { maybeInstant, maybeText, named } from './values.ts';

/** Something that needs an operator. */
export const Trouble = named(
  { id: 'Trouble', description: 'Something that needs an operator.' },
  {
    kind: z.enum(troubleKinds),
    severity: z.enum(severities),
    install: maybeText,
    tool: maybeText,
    since: maybeInstant,
    count: z.int().nullable().describe('Of what `says` counts.'),
    says: z.string().describe('One sentence.'),
    detail: maybeText.describe('The error of another system, or numbers.'),
    action: z.string().describe('What to do.'),
    page: maybeText.describe('The page of the console where it is done.'),
    url: maybeText.describe('The URL outside Gangway where it is done.'),
    about: z.record(z.string(), z.string()).describe('Further ids of what it is about, such as `plan`.'),
  },
);

export function sayTrouble({ severity, says, since, detail, action }: z.output<typeof Trouble>): string {
  const age = since === null ? '' : ` (${sayAge(Date.now() - Date.parse(since))})`;
  const lines = [`${says}${age}`, ...(detail === null ? [] : [detail]), `→ ${action}`];
  return `  ${paint(severity, severity.padEnd(7))}  ${lines.join(`\n${' '.repeat(11)}`)}`;
}

/** The instances on this database. @param now by the database's clock */
export async function loadInstances(ctx: Storage, now: Date) {
  const instances = await listInstances(ctx.database.kysely);
  return instances.map((instance) => {
    const silentForMs = Math.max(0, now.getTime() - Date.parse(instance.beatAt));
    return { ...instance, state: stateOf(instance, now), silentForSeconds: Math.round(silentForMs / 1000) };
  });
}

function stateOf(instance: Instance, now: Date): 'running' | 'silent' | 'stopped' {
  if (instance.stoppedAt !== null) return 'stopped';
  return isInstanceRunning(instance, now) ? 'running' : 'silent';
}

/** The trouble that keeps Gangway from doing anything, if there is one. */
export async function listWhatStopsAll(ctx: Storage & { clock: Clock }) {
  const found = await findInstanceTroubles(ctx, ctx.clock.now());
  return found.filter(({ kind }) => kind === 'nothing_runs').map(toTrouble);
}

/** Instances read it only when they start. */
export interface ConfigFile {
  path: string;
  changedAt: Date;
  /** Whether the instance reads this file. */
  isOf(instance: { name: string }): boolean;
}

export async function findInstanceTroubles(ctx: Storage, now: Date, file?: ConfigFile): Promise<TroubleFacts[]> {
  const instances = await listInstances(ctx.database.kysely);
  const running = instances.filter((instance) => isInstanceRunning(instance, now));
  if (running.length === 0) {
    // Instances of every version write it once a minute.
    const lastAliveAt = await inTransaction(ctx.database, (tx) => readSetting(tx, 'last_alive_at'));
    const since = silentSince(instances, now) ?? lastAliveAt ?? null;
    const never = since === null ? 'has not run on this database yet' : 'is not running';
    return [{ kind: 'nothing_runs', since, names: { never } }];
  }
  const silent = instances.filter((one) => one.stoppedAt === null && !isInstanceRunning(one, now));
  const outdated = running.filter(
    (one) => file?.isOf(one) === true && Date.parse(one.startedAt) < file.changedAt.getTime(),
  );
  return [
    ...silent.map(({ name, version, beatAt }): TroubleFacts => {
      return { kind: 'instance_silent', since: beatAt, detail: `Version ${version}`, about: { instance: name } };
    }),
    ...outdated.map(({ name, startedAt }): TroubleFacts => {
      const detail = `${file?.path} has changed since the start at ${startedAt}`;
      const since = file?.changedAt.toISOString() ?? null;
      return { kind: 'config_changed', since, detail, about: { instance: name } };
    }),
  ];
}
