import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { RouteLink } from '../domain/route.ts';
import { sayCount } from '../lib/text.ts';
import { postponeDerivation, postponeOrphans } from './derivation-store.ts';
import { findOrphans, findUnrouted, type Orphan } from './find-orphans.ts';

/**
 * Refuses a configuration that no longer routes to members who are in a tool, unless the operator accepts it. So an
 * install that was renamed by mistake has no effect. Who still waited to be added where it led before is derived anew.
 *
 * @returns the number of orphans by install and tool, as text; null if there are none
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function checkOrphans(ctx: Context, isAccepted: boolean): Promise<string | null> {
  const { orphans, waiting } = await findUnrouted(ctx, ctx.config, ctx.routeLink);
  const summary = orphans.length === 0 ? null : summarise(orphans);
  if (summary !== null && !isAccepted) {
    throw new AppError(
      'conflict',
      `The configuration no longer covers ${summary}. ` +
        'Put the name of the install, tool or project back, or start with --accept-orphans: ' +
        'Gangway then keeps and reports them until "gangway retire"',
    );
  }
  await inTransaction(ctx.database, async (tx) => {
    await postponeDerivation(tx, [...orphans, ...waiting]);
    await postponeOrphans(tx);
  });
  return summary;
}

/**
 * Refuses a new routing of installs that would orphan members.
 *
 * @param routeLink the new routing
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function refuseOrphaning(ctx: Context, routeLink: RouteLink): Promise<void> {
  const orphans = await findOrphans(ctx, ctx.config, routeLink);
  if (orphans.length === 0) return;
  throw new AppError(
    'conflict',
    `The configuration would no longer cover ${summarise(orphans)}. ` +
      'With --accept-orphans Gangway keeps and reports them until "gangway retire"',
  );
}

function summarise(orphans: Orphan[]): string {
  const counts = Map.groupBy(orphans, ({ install, tool }) => `install ${install}, tool ${tool}`);
  const lines = [...counts].map(([of, { length }]) => ({ of, length }));
  lines.sort((a, b) => (a.of < b.of ? -1 : 1));
  const parts = lines.map(({ of, length }) => `${length} of ${of}`).join('; ');
  return `${sayCount(orphans.length, 'membership')} (${parts})`;
}
