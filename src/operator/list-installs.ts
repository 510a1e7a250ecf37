import type { Install } from '../domain/install.ts';
import { sayInFull, type Trouble } from '../lib/troubles.ts';
import { listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listTroubles, type Watched } from './list-troubles.ts';

/** An install as an operator may see it: without its token. */
export interface ListedInstall extends Pick<Install, 'livesIn' | 'tool'> {
  install: string;
  projects: string[];
  /** When the last complete reading began; null before the first. */
  readAt: string | null;
  /** Why it could not be read since. */
  failure: string | null;
  /** What is wrong with it, its people or its tool, the worst first. */
  troubles: string[];
}

/** @param installs these, in this order */
export async function listInstalls(
  ctx: Watched,
  installs: Iterable<[string, Install]>,
  troubles?: readonly Trouble[],
): Promise<ListedInstall[]> {
  const states = new Map((await listInstallStates(ctx)).map((state) => [state.install, state]));
  const all = (troubles ?? (await listTroubles(ctx))).filter(({ severity }) => severity !== 'notice');
  return [...installs].map(([install, { livesIn, tool, projects }]) => {
    const { readBeganAt = null, failure = null } = states.get(install) ?? {};
    const isOfIt = (one: Trouble) =>
      one.install === install || (one.install === null && one.tool === tool) || one.kind === 'nothing_runs';
    const of = { install, livesIn, tool, projects: [...projects] };
    return { ...of, readAt: readBeganAt, failure, troubles: all.filter(isOfIt).map(sayInFull) };
  });
}
