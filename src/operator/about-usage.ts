import type { Database } from '../db/database.ts';
import { createLoweringStore } from '../usage/report/lowering-store.ts';
import type { Attention } from './load-status.ts';

/** What needs somebody about the work in the tools. */
export async function aboutUsage(
  database: Database,
  /** The installs there are. */
  configured: Pick<ReadonlyMap<string, unknown>, 'has'>,
): Promise<Attention[]> {
  const held = await createLoweringStore(database).countHeld();
  return held
    .filter(({ install }) => configured.has(install))
    .map(({ install, days }) => ({
      says: `days of usage of ${install} that would be lowered, held until somebody has looked: ${days}`,
      action: 'gangway usage held, then gangway usage report --accept-lowered',
    }));
}
