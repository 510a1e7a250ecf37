import { type Database, inTransaction } from '../db/database.ts';
import { isInstanceRunning, listInstances } from '../db/instance-store.ts';
import { compatibility, listPending, migrations, refuseNewer } from '../db/migrate.ts';
import type { Clock } from '../lib/clock.ts';
import { version } from '../lib/version.ts';
import { type Check, ok, warning } from './check.ts';

/**
 * What the first start of this version would do to a database. It changes nothing.
 *
 * @param all the migrations of this version
 * @param needed its compatibility number
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function examineUpgrade(
  database: Database,
  clock: Clock,
  { all = migrations, needed = compatibility } = {},
): Promise<Check[]> {
  const { dialect } = database;
  return await inTransaction(database, async (tx) => {
    const pending = await listPending(dialect, tx, all);
    if (pending.length === Object.keys(all).length) return [ok('upgrade', 'The database is new: nothing to upgrade')];
    const isOneWay = (await refuseNewer(tx)) < needed;
    const instances = await listInstances(tx);
    const running = instances.filter((instance) => isInstanceRunning(instance, clock.now()));
    const before = instances[0]?.version ?? 'an unknown version';
    const stops =
      dialect === 'sqlite' || isOneWay
        ? 'Stop Gangway before you start this version'
        : 'Replace one instance after the other';
    return [
      ok('upgrade', `From ${before} to ${version}`),
      pending.length === 0
        ? ok('tables', 'They stay as they are')
        : warning(
            'tables',
            `The first start runs ${pending.join(', ')}`,
            'Run "gangway backup <file>" with the old version',
          ),
      isOneWay
        ? warning('way back', `${before} cannot use the database after that`, 'To go back, restore the backup')
        : ok('way back', `${before} can use the database again`),
      ...(running.length === 0
        ? []
        : [warning('instances', `Running: ${running.map(({ name }) => name).join(', ')}`, stops)]),
    ];
  });
}
