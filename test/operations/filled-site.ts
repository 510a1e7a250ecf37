import { vi } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';
import { consoleTokens } from '../support/visitor.ts';

/** A running bridge with something to find for every operation, and its configuration for commands beside it. */
export async function openFilledSite(): Promise<Journey> {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet } = journey;
  await customer.link('street-signs');
  for (let hires = 0; hires < 3; hires += 1) sandbox.hire({ jobId: customer.jobId });
  await quiet();
  vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token);
  vi.stubEnv('GANGWAY_SECRET_KEY', journey.secretKey);
  return journey;
}
