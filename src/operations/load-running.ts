import type { Storage } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { type Instance, isInstanceRunning, listInstances, silentSince } from '../db/instance-store.ts';
import { readSetting } from '../db/setting-store.ts';
import type { Clock } from '../lib/clock.ts';
import { type Trouble, type TroubleFacts, toTrouble } from '../lib/troubles.ts';

/** Who runs on the database. @param now by the database's clock */
export async function loadInstances(ctx: Storage, now: Date) {
  const instances = await listInstances(ctx.database.kysely);
  return instances.map((instance) => {
    const { id: _, ...shown } = instance;
    const silentForMs = Math.max(0, now.getTime() - Date.parse(instance.beatAt));
    return { ...shown, state: stateOf(instance, now), silentForSeconds: Math.round(silentForMs / 1000) };
  });
}

function stateOf(instance: Instance, now: Date): 'running' | 'silent' | 'stopped' {
  if (instance.stoppedAt !== null) return 'stopped';
  return isInstanceRunning(instance, now) ? 'running' : 'silent';
}

/** What keeps Gangway from acting on anything. */
export async function listWhatStopsAll(ctx: Storage & { clock: Clock }): Promise<Trouble[]> {
  const found = await findInstanceTroubles(ctx, ctx.clock.now());
  return found.filter(({ kind }) => kind === 'nothing_runs').map(toTrouble);
}

/** A configuration is read only at the start of an instance. */
export interface ConfigFile {
  path: string;
  changedAt: Date;
  /** Whether an instance reads this file. */
  isOf(instance: { name: string }): boolean;
}

export async function findInstanceTroubles(ctx: Storage, now: Date, file?: ConfigFile): Promise<TroubleFacts[]> {
  const instances = await listInstances(ctx.database.kysely);
  const running = instances.filter((instance) => isInstanceRunning(instance, now));
  if (running.length === 0) {
    // When any version was last alive, to the minute.
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
      return {
        kind: 'config_changed',
        since: file?.changedAt.toISOString() ?? null,
        detail,
        about: { instance: name },
      };
    }),
  ];
}
