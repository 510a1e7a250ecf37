import { vi } from 'vitest';
import { writeAudit } from '../../src/db/audit-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';

const minuteMs = 60_000;

export interface FilledSite extends Journey {
  /** Ids that are made up anew each time, by the name that an input of a test has for each. */
  known: Record<string, string>;
}

/** A running bridge with something to find for every operation, and its configuration for commands beside it. */
export async function openFilledSite(): Promise<FilledSite> {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet, pass, storage } = journey;
  await customer.link('street-signs');
  const cars = await customer.link('cars');
  const hired = [1, 2, 3].map(() => sandbox.hire({ jobId: customer.jobId }));
  await quiet();
  // Everybody was in for long enough that the brake holds the removals.
  await pass(120 * minuteMs);
  await customer.api('DELETE', `/project-links/${cars}`);
  await quiet();
  await pass(20 * minuteMs);
  const budgets = () => storage.database.kysely.selectFrom('budget').select('askedAt').execute();
  await until('the budgets are read', budgets, (rows) => rows.every(({ askedAt }) => askedAt !== null));
  vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token);
  vi.stubEnv('GANGWAY_SECRET_KEY', journey.secretKey);
  const { database } = journey.storage;
  const by = { actor: 'otto', at: journey.clock.now().toISOString() };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'plans approve', 'plan 1'));
  const openRuns = () => database.kysely.selectFrom('run').select('id').where('endedAt', 'is', null).execute();
  await until('every run has ended', openRuns, ({ length }) => length === 0);
  // Periods and ages are counted from now.
  vi.useFakeTimers({ toFake: ['Date'], now: journey.clock.now() });
  return { ...journey, known: { '<contract>': hired[0]?.contractId ?? '' } };
}
