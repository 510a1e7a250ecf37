import SqliteDatabase from 'better-sqlite3';

/** Run as a process of its own by `alive-lock.ts`: says whether its lock keeps this process out. */

const [, , file = ''] = process.argv;
const probe = new SqliteDatabase(file, { timeout: 0, fileMustExist: true });
try {
  probe.exec('begin exclusive');
  process.stdout.write('free\n');
} catch (error) {
  const isLocked = (error as { code?: string }).code === 'SQLITE_BUSY';
  process.stdout.write(isLocked ? 'locked\n' : 'failed\n');
} finally {
  probe.close();
}
