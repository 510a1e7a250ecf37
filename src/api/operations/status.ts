import { instantIn, toInstant } from '../../lib/clock.ts';
import { toDurationMs } from '../../lib/units.ts';
import { loadRunning } from '../../operator/about-instances.ts';
import { loadStatus, toMailed } from '../../operator/load-status.ts';
import { defineOperation } from '../operation-schema.ts';
import { statusAnswer, statusQuery } from '../schemas/status-schema.ts';

/** How Gangway is doing. */

const tag = 'status';

const getStatus = defineOperation({
  id: 'getStatus',
  method: 'get',
  path: '/status',
  summary: 'How Gangway is doing, what happened lately, and what needs an operator',
  tag,
  query: statusQuery,
  answer: statusAnswer,
  async run({ query: { since = '24h' } }, ctx) {
    const { installs, config, clock } = ctx;
    const from = instantIn(clock, -(toDurationMs(since) ?? 0));
    const status = await loadStatus(ctx, from, installs, toMailed(config, toInstant(clock.now())));
    const running = await loadRunning(ctx, clock);
    return { ...status, ...running, attention: [...running.attention, ...status.attention] };
  },
});

export const statusOperations = [getStatus];
