import { findAct, listActs, writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import { tryChannels } from '../../notify/channel.ts';
import { listDispatches } from '../../notify/dispatch-store.ts';
import { pageById } from '../../operations/cursor.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  actPage,
  actParams,
  actQuery,
  act as actSchema,
  notificationPage,
  notificationQuery,
  tryChannelsAnswer,
  tryChannelsBody,
} from '../schemas/record-schema.ts';

/** What operators did, and what was sent to people. */

const tag = 'records';

const actsOfOperators = defineOperation({
  id: 'listActs',
  method: 'get',
  path: '/acts',
  summary: 'The audit log: what operators did, the latest first',
  tag,
  query: actQuery,
  answer: actPage,
  run: ({ query: { actor, before: row, ...wish } }, { database }) =>
    pageById('listActs', wish, (page, limit) => listActs(database, { actor, before: smaller(page, row), limit })),
});

const getAct = defineOperation({
  id: 'getAct',
  method: 'get',
  path: '/acts/{act}',
  summary: 'One act, with what was before and after',
  tag,
  params: actParams,
  answer: actSchema,
  async run({ params: { act: id } }, { database }) {
    const found = await findAct(database, id);
    if (found === undefined) throw new AppError('not_found', `There is no act ${id}`);
    return found;
  },
});

const listNotifications = defineOperation({
  id: 'listNotifications',
  method: 'get',
  path: '/notifications',
  summary: 'The notices that were sent or wait, by channel, the newest first',
  tag,
  query: notificationQuery,
  answer: notificationPage,
  run: ({ query: { state, ...wish } }, ctx) =>
    pageById('listNotifications', wish, (before, limit) => listDispatches(ctx, { state, before, limit })),
});

const testNotifications = defineOperation({
  id: 'testNotifications',
  method: 'post',
  path: '/notifications/test',
  summary: 'Send a test notice to the channels now, and say whether it arrived',
  tag,
  body: tryChannelsBody,
  answer: tryChannelsAnswer,
  async run({ body: { channel: name }, by, signal }, ctx) {
    const channels = ctx.channels.filter((channel) => name === undefined || channel.name === name);
    if (channels.length === 0) throw new AppError('not_found', 'There is no such channel in notifications.channels');
    const trials = await tryChannels(channels, ctx.clock, signal);
    const names = channels.map((channel) => channel.name).join(', ');
    await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'notifications test', names));
    return { trials };
  },
});

export const recordOperations = [actsOfOperators, getAct, listNotifications, testNotifications];

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
