import { openForTest, sqlite } from '../support/databases.ts';
import { thousandPasts } from '../support/thousand-pasts.ts';

thousandPasts('SQLite', 1, async () => openForTest(await sqlite.createMigrated()));
