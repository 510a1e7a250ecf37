import { openForTest, postgres } from '../support/databases.ts';
import { thousandPasts } from '../support/thousand-pasts.ts';

// A tenth, as each takes five times as long.
thousandPasts('PostgreSQL', 0.1, async () => openForTest(await postgres.createMigrated()));
