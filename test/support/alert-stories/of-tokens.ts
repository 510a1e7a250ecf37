import { lookAtToken } from '../../../src/installs/tokens/token-worker.ts';
import { openFeedWorld } from '../../feed/feed-harness.ts';
import { createAlerting } from '../alerting.ts';
import type { OpenFresh } from '../databases.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createLogLines } from '../log-lines.ts';
import { openTokenWorld, signal } from '../token-world.ts';
import type { AlertStories } from './alert-story.ts';

const dayMs = 86_400_000;

/** An account whose token expires in 30 days, and what looks at it. */
async function open(openFresh: OpenFresh) {
  const clock = createFakeClock(new Date().toISOString());
  const world = await openTokenWorld(await openFresh(), clock);
  const expiresAt = new Date(clock.now().getTime() + 30 * dayMs).toISOString();
  const { token } = await world.makeToken({ expiresAt });
  const { deps, registry } = await world.open({ configured: { own: token } });
  const walls = { installs: registry.installs, adapters: new Map() };
  const alerting = createAlerting({ walls });
  const alerts = alerting.hears({ database: world.database, clock, logger: createLogLines().logger });
  const look = () => lookAtToken({ ...deps, sources: registry.sources, alerts }, 'own', signal);
  return { ...world, registry, clock, alerting, look };
}

/** The tokens and the feed of an employer's own account. */
export const tokenStories = {
  async token_expires(openFresh) {
    const { sandbox, accountId, registry, clock, alerting, look } = await open(openFresh);
    sandbox.setFaults(accountId, { forbidden: { probability: 1, operations: ['POST /tokens'] } });
    clock.advance(24 * dayMs);
    return {
      alerting,
      find: look,
      async end() {
        sandbox.setFaults(accountId);
        await look();
        await registry.load();
        await look();
      },
    };
  },

  async tokens_full(openFresh) {
    const { active, makeToken, registry, alerting, look } = await open(openFresh);
    while (active().length < 25) await makeToken();
    return {
      alerting,
      find: look,
      async end() {
        await registry.sources.get('own')?.revokeToken?.(active().at(-1)?.id ?? '', signal);
        await look();
      },
    };
  },

  async feed_unread(openFresh) {
    const walls = { installs: new Map([['own', { tool: 'studio', projects: ['*'] }]]), adapters: new Map() };
    const alerting = createAlerting({ walls });
    const { front, clock, read } = await openFeedWorld(await openFresh(), alerting.hears);
    const readLater = async () => {
      clock.advance(3_600_000);
      await read();
    };
    front.meddle(() => ({ status: 404 }));
    await read();
    return {
      alerting,
      find: readLater,
      async end() {
        front.meddle();
        await readLater();
      },
    };
  },
} satisfies AlertStories;
