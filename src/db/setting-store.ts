import type { Transaction } from './database.ts';

/** What the database must remember about itself. */
type SettingName = 'compatibility' | 'key_fingerprint' | 'last_write_check';

export async function readSetting(tx: Transaction, name: SettingName): Promise<string | undefined> {
  const row = await tx
    .selectFrom('setting')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value;
}

export async function writeSetting(
  tx: Transaction,
  name: SettingName,
  value: string,
): Promise<void> {
  await tx
    .insertInto('setting')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

/** Writes a setting that nobody has written yet. @returns what stands, whoever wrote it */
export async function keepSetting(
  tx: Transaction,
  name: SettingName,
  value: string,
): Promise<string> {
  await tx
    .insertInto('setting')
    .values({ name, value })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await readSetting(tx, name)) ?? value;
}
