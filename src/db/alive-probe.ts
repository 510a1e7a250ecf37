import SqliteDatabase from 'better-sqlite3';

/** `alive-lock.ts` runs this as a process of its own. It says whether the lock stops this process. */

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
