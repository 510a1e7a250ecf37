import { z } from 'zod';
import type { Install as Connected } from '../domain/install.ts';
import { sayInFull, type Trouble } from '../lib/troubles.ts';
import { listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listTroubles, type Watched } from './list-troubles.ts';
import { maybeInstant, maybeText } from './values.ts';

export const Install = z
  .object({
    install: z.string(),
    livesIn: z.enum(['configuration', 'database']),
    tool: z.string(),
    projects: z.array(z.string()),
    readAt: maybeInstant.describe('When the last complete reading began.'),
    failure: maybeText.describe('Why it could not be read since.'),
    troubles: z
      .array(z.string())
      .describe('What is wrong at the marketplace, with its endpoint, its tool and its people; empty if nothing is.'),
  })
  .meta({ id: 'Install' });

/** Healthy only if there is no trouble with the marketplace, the endpoint, the tool or the people. */
export function healthOf({ readAt, troubles }: Pick<z.output<typeof Install>, 'readAt' | 'troubles'>): string {
  if (troubles.length > 0) return 'trouble';
  return readAt === null ? 'not_read' : 'healthy';
}

/** @param installs these, in this order */
export async function listInstalls(
  ctx: Watched,
  installs: Iterable<[string, Connected]>,
  troubles?: readonly Trouble[],
) {
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
