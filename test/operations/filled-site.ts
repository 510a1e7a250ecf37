import { vi } from 'vitest';
import { writeAudit } from '../../src/db/audit-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';

export interface FilledSite extends Journey {
  contractId: string;
}

/** A running bridge with something to find for every operation, and its configuration for commands beside it. */
export async function openFilledSite(): Promise<FilledSite> {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet } = journey;
  await customer.link('street-signs');
  const [hired] = [1, 2, 3].map(() => sandbox.hire({ jobId: customer.jobId }));
  await quiet();
  vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token);
  vi.stubEnv('GANGWAY_SECRET_KEY', journey.secretKey);
  const { database } = journey.storage;
  const by = { actor: 'otto', at: journey.clock.now().toISOString() };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'plans approve', 'plan 1'));
  const contractId = hired?.contractId ?? '';
  const budget = { install: 'acme', contractId, failure: 'not read yet' };
  await database.kysely
    .insertInto('budget')
    .values(budget)
    .onConflict((one) => one.doNothing())
    .execute();
  await until(
    'every run has ended',
    async () => await database.kysely.selectFrom('run').select('id').where('endedAt', 'is', null).execute(),
    (open) => open.length === 0,
  );
  return { ...journey, contractId };
}
