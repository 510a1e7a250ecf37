import { instantIn } from '../../lib/clock.ts';
import { toDurationMs } from '../../lib/units.ts';
import { loadStatus } from '../../operator/load-status.ts';
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
  run: ({ query: { since = '24h' } }, ctx) => loadStatus(ctx, instantIn(ctx.clock, -(toDurationMs(since) ?? 0))),
});

export const statusOperations = [getStatus];
