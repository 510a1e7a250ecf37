import type { Database } from '../db/database.ts';
import { createDispatchStore } from '../notify/dispatch-store.ts';
import type { Attention } from './load-status.ts';

/** Channels that have not accepted their notices yet: shown long before the notices are given up. */
export async function aboutNotices(database: Database): Promise<Attention[]> {
  const troubled = await createDispatchStore(database).countTroubled();
  return troubled.map(({ channel, count }) => ({
    says: `notices that the channel ${channel} has not taken yet: ${count}`,
    action: `gangway notifications list --state waiting says why; after mending it: gangway notifications test --channel ${channel}`,
  }));
}
