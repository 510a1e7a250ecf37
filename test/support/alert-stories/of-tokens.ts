import { checkExpiry } from '../../../src/installs/rotate-token.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { openFeedWorld } from '../../reconcile/feed/feed-harness.ts';
import { createAlerting } from '../alerting.ts';
import { inStudio } from '../engine-harness.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createLogLines } from '../log-lines.ts';
import { openTokenWorld, signal } from '../token-world.ts';
import type { AlertStories } from './alert-story.ts';

const dayMs = 86_400_000;

/** The tokens and the feed of an employer's own account. */
export const tokenStories = {
  async token_expires(openFresh) {
    const clock = createFakeClock(new Date().toISOString());
    const world = await openTokenWorld(await openFresh(), clock);
    const { token } = await world.makeToken({ expiresAt: toInstant(new Date(clock.now().getTime() + 30 * dayMs)) });
    const { rotate, ctx, registry } = await world.open({ configured: { own: token } });
    const { installs } = registry;
    const alerting = createAlerting({ installs });
    const { logger } = createLogLines();
    const alerts = alerting.hears({ database: world.database, clock, logger });
    const find = () => checkExpiry({ ...ctx, alerts }, 'own', signal);
    clock.advance(22 * dayMs);
    await find();
    clock.advance(2 * dayMs);
    return {
      alerting,
      find,
      async end() {
        await rotate();
        await find();
      },
    };
  },

  async feed_unread(openFresh) {
    const alerting = createAlerting({ installs: new Map([['own', inStudio()]]) });
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
