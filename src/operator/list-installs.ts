import type { Database } from '../db/database.ts';
import type { Install } from '../installs/install.ts';
import { createInstallStateStore } from '../reconcile/read/install-state-store.ts';

/** An install as an operator may see it: without its token. */
export interface ListedInstall extends Pick<Install, 'livesIn' | 'tool' | 'projects'> {
  install: string;
  /** When the last complete reading began; null before the first. */
  readAt: string | null;
  /** Why it could not be read since. */
  failure: string | null;
}

export async function listInstalls(
  database: Database,
  installs: ReadonlyMap<string, Install>,
): Promise<ListedInstall[]> {
  const rows = await createInstallStateStore(database).list();
  const states = new Map(rows.map((state) => [state.install, state]));
  return [...installs].map(([install, { livesIn, tool, projects }]) => {
    const { readBeganAt: readAt = null, failure = null } = states.get(install) ?? {};
    return { install, livesIn, tool, projects, readAt, failure };
  });
}
