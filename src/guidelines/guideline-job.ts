import type { JobKind } from '../jobs/job.ts';
import { syncInstall } from './sync-install.ts';

/** No project is begun after this time. */
const passMs = 5 * 60_000;
const by = { actor: 'gangway', origin: 'schedule' };

/**
 * Reads what is published for the jobs of the installs that want it (`installs.<name>.guidelines`), and brings it into
 * their tools. It writes nothing over what people have written there, and removes nothing.
 */
export const guidelineJob: JobKind = {
  name: 'guidelines',
  atOnce: 4,
  // What is left after it is read at the next pass.
  leaseMs: 2 * passMs,
  isStanding: true,
  installs: ({ installs }) => [...installs].flatMap(([install, { guidelines }]) => (guidelines ? [install] : [])),
  restMs: ({ config }) => config.guidelines.everyMs,
  async run(ctx, { install }, signal, { beat }) {
    const endsAt = ctx.clock.now().getTime() + passMs;
    const hasTime = () => {
      beat();
      return ctx.clock.now().getTime() < endsAt;
    };
    const { projects } = await syncInstall(ctx, { install, overwrites: false, by }, signal, hasTime);
    // A tool that asked to be left alone is.
    return Math.max(ctx.config.guidelines.everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
  },
};
