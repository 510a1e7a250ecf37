import { inTransaction } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { listInstances } from '../db/instance-store.ts';
import { readSetting } from '../db/setting-store.ts';
import { type Instance, isInstanceRunning, silentSince } from '../domain/instance.ts';
import type { Storage } from '../keys/storage.ts';
import type { Clock } from '../lib/clock.ts';
import { loadTools, type ToolStanding } from './about-tools.ts';
import type { Attention } from './attention.ts';

/** Who runs on the database and how their tools are, as another process sees it. */
export interface Running {
  instances: ShownInstance[];
  tools: ToolStanding[];
  /** Empty where all is well. */
  attention: Attention[];
}

export interface ShownInstance extends Omit<Instance, 'id'> {
  state: 'running' | 'silent' | 'stopped';
  /** How long ago its heartbeat was, by the database's clock. */
  silentForSeconds: number;
}

export async function loadRunning(ctx: Storage, local: Clock): Promise<Running> {
  const { database } = ctx;
  const clock = createDatabaseClock(database, local);
  await clock.correct();
  const now = clock.now();
  const instances = await listInstances(database.kysely);
  const lastAliveAt = await inTransaction(database, (tx) => readSetting(tx, 'last_alive_at'));
  const { tools, attention } = await loadTools(ctx, now);
  const isAnyRunning = instances.some((instance) => isInstanceRunning(instance, now));
  return {
    instances: instances.map((instance) => toShown(instance, now)),
    tools,
    attention: [
      ...aboutInstances(instances, lastAliveAt, now),
      // While no instance runs, everything waits for one.
      ...(isAnyRunning ? attention : []),
    ],
  };
}

/**
 * A configuration is read only at the start.
 *
 * @param instances those that read this file
 */
export function aboutChangedFile(instances: readonly ShownInstance[], file: string, changedAt: Date): Attention[] {
  return instances
    .filter(({ state, startedAt }) => state === 'running' && Date.parse(startedAt) < changedAt.getTime())
    .map(({ name, startedAt }) => ({
      says: `${file} has changed since the instance ${name} started at ${startedAt}, which goes on by the old one`,
      action: 'restart it to have the change take effect',
    }));
}

function toShown(instance: Instance, now: Date): ShownInstance {
  const { id: _, ...shown } = instance;
  const silentForMs = Math.max(0, now.getTime() - Date.parse(instance.beatAt));
  return {
    ...shown,
    state: stateOf(instance, now),
    silentForSeconds: Math.round(silentForMs / 1000),
  };
}

function stateOf(instance: Instance, now: Date): ShownInstance['state'] {
  if (instance.stoppedAt !== null) return 'stopped';
  return isInstanceRunning(instance, now) ? 'running' : 'silent';
}

/** @param lastAliveAt when any version was last alive, to the minute */
function aboutInstances(instances: readonly Instance[], lastAliveAt: string | undefined, now: Date): Attention[] {
  if (instances.some((instance) => isInstanceRunning(instance, now))) {
    return instances
      .filter((one) => one.stoppedAt === null && !isInstanceRunning(one, now))
      .map(({ name, version, beatAt }) => ({
        says: `the instance ${name} (${version}) has not been heard of since ${beatAt}`,
        action: 'see whether it still runs, and what its log says: others have taken over its work',
      }));
  }
  const since = silentSince(instances, now) ?? lastAliveAt;
  if (since === undefined) {
    return [{ says: 'nothing has run on this database yet', action: 'start it: gangway start' }];
  }
  return [
    {
      says: `nothing runs since ${since}: no delivery is stored, and no member is added or removed`,
      action: 'start it: gangway start; the log of what ran before says why it ended',
    },
  ];
}
