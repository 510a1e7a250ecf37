import SqliteDatabase from 'better-sqlite3';

/**
 * A process of its own that writes to the bridge's SQLite file as well: one short transaction
 * after the other, until it is stopped.
 *
 * Started with `fork` and the file as its argument; sends `writing` after its first transaction,
 * and at the end how many there were.
 */
const [, , file = ''] = process.argv;
const database = new SqliteDatabase(file, { timeout: 10_000 });
database.pragma('synchronous = FULL');
database.exec('create table if not exists other_writers (id integer primary key, noise text)');
const insert = database.prepare('insert into other_writers (noise) values (?)');

/** Holds the write lock for a few milliseconds, as a large statement would. */
const holdMs = 2;
const pauseMs = 4;
let written = 0;
let isStopping = false;

process.on('message', () => {
  isStopping = true;
});
process.on('disconnect', () => process.exit());

while (!isStopping) {
  writeOnce();
  if (written === 1) process.send?.('writing');
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
database.close();
process.send?.(written, () => process.exit());

function writeOnce(): void {
  database.exec('begin immediate');
  const until = performance.now() + holdMs;
  while (performance.now() < until) insert.run('x'.repeat(200));
  database.exec('commit');
  written += 1;
}
