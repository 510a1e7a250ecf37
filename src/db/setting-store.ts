import type { Transaction } from './database.ts';
import { upsert } from './query.ts';

/** What the database stores about itself. */
export type SettingName =
  | 'compatibility'
  | 'key_fingerprint'
  | 'last_write_check'
  | 'last_alive_at'
  | 'latest_instant'
  | 'database_made_as'
  | 'usage_tick'
  | 'usage_tick_at'
  | 'usage_reported_tick'
  | 'usage_rules'
  | 'usage_recounted_at'
  /** Only days before this one were ever sent for the last time. */
  | 'usage_closed_before'
  | 'installs_revision'
  /** The database was restored, and no instance has started since. */
  | 'restored';

export async function readSetting(tx: Transaction, name: SettingName): Promise<string | undefined> {
  const row = await tx.selectFrom('setting').select('value').where('name', '=', name).executeTakeFirst();
  return row?.value;
}

export async function writeSetting(tx: Transaction, name: SettingName, value: string): Promise<void> {
  await upsert(tx, 'setting', ['name'], [{ name, value }]);
}

/** Writes a setting that has no value yet. @returns the value that it has now */
export async function keepSetting(tx: Transaction, name: SettingName, value: string): Promise<string> {
  const insert = tx.insertInto('setting').values({ name, value });
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
  return (await readSetting(tx, name)) ?? value;
}

/** Raises a setting that only grows. @returns whether this call raised it. Of several instances, only one does */
export async function raiseSetting(tx: Transaction, name: SettingName, value: string): Promise<boolean> {
  const raised = await tx
    .updateTable('setting')
    .set({ value })
    .where('name', '=', name)
    .where('value', '<', value)
    .returning('name')
    .executeTakeFirst();
  return raised !== undefined;
}

export async function dropSetting(tx: Transaction, name: SettingName): Promise<void> {
  await tx.deleteFrom('setting').where('name', '=', name).execute();
}
