import type { Storage } from '../../src/context.ts';
import { beatInstance } from '../../src/db/instance-store.ts';
import { type Clock, toInstant } from '../../src/lib/clock.ts';
import type { Trouble } from '../../src/lib/troubles.ts';
import { listTroubles, type Watched } from '../../src/operations/list-troubles.ts';

const acme: Watched['installs'] = new Map([['acme', { tool: 'studio', projects: ['*'] }]]);

/** What needs an operator while an instance runs, of these installs. */
export async function troublesIn(
  ctx: Storage & { clock: Clock; config?: Watched['config']; adapters?: Watched['adapters'] },
  installs: Watched['installs'] = acme,
): Promise<Trouble[]> {
  await beatIn(ctx);
  const config = ctx.config ?? ({ marketplace: { managedDomains: [] } } as unknown as Watched['config']);
  return await listTroubles({ ...ctx, config, installs });
}

/** An instance runs. */
export async function beatIn({ database, clock }: Pick<Storage, 'database'> & { clock: Clock }): Promise<void> {
  const at = toInstant(clock.now());
  await beatInstance(database, { id: 'runs', name: 'host/1', version: '1', startedAt: at, beatAt: at }, '');
}

/** The same, the kind and the count of each. */
export async function countTroublesIn(...args: Parameters<typeof troublesIn>): Promise<string[]> {
  return (await troublesIn(...args)).map(({ kind, count }) => (count === null ? kind : `${kind} ${count}`));
}
