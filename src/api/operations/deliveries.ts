import { AppError } from '../../domain/errors.ts';
import { digestOf } from '../../inbox/body-key.ts';
import { type ListedDelivery, listDeliveries } from '../../inbox/delivery-list-store.ts';
import { findBody, findDelivery } from '../../inbox/inbox-store.ts';
import { maskText } from '../../lib/mask.ts';
import { replayDeliveries, replayMatching } from '../../operator/replay-deliveries.ts';
import { pageById } from '../cursor.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  bodyAnswer,
  delivery as deliveryAnswer,
  deliveryPage,
  deliveryParams,
  deliveryQuery,
  replayAnswer,
  replayBody,
} from '../schemas/delivery-schema.ts';

/** What the marketplace sent, and what became of it. */

const tag = 'deliveries';

const listAllDeliveries = defineOperation({
  id: 'listDeliveries',
  method: 'get',
  path: '/deliveries',
  summary: 'The deliveries, the newest first',
  tag,
  query: deliveryQuery,
  answer: deliveryPage,
  async run({ query: { since, until, limit, cursor, ...filter } }, ctx) {
    const { items, next } = await pageById('listDeliveries', { limit, cursor }, (before, most) =>
      listDeliveries(ctx.database.kysely, { ...filter, ...toInstants({ since, until }), before, limit: most }),
    );
    return { items: items.map(toShown), next };
  },
});

const getDelivery = defineOperation({
  id: 'getDelivery',
  method: 'get',
  path: '/deliveries/{delivery}',
  summary: 'One delivery, without its body',
  tag,
  params: deliveryParams,
  answer: deliveryAnswer,
  run: async ({ params: { delivery: id } }, ctx) => toShown(found(id, await findDelivery(ctx, id))),
});

const getDeliveryBody = defineOperation({
  id: 'getDeliveryBody',
  method: 'get',
  path: '/deliveries/{delivery}/body',
  summary: 'The body of a delivery as it came; it names people',
  tag,
  role: 'operator',
  isSecret: true,
  params: deliveryParams,
  answer: bodyAnswer,
  async run({ params: { delivery: id } }, ctx) {
    const body = found(id, await findBody(ctx, id));
    return { id, body: body.toString('base64') };
  },
});

const replay = defineOperation({
  id: 'replayDeliveries',
  method: 'post',
  path: '/deliveries/replay',
  summary: 'Handle deliveries again, as if they had just arrived',
  tag,
  body: replayBody,
  answer: replayAnswer,
  async run({ body, by }, ctx) {
    if ('matching' in body) {
      const { since, until, ...filter } = body.matching;
      const chosenBy = Object.entries(body.matching).map(([name, value = '']) => `${name}=${maskText(value)}`);
      return await replayMatching(ctx, by, { ...filter, ...toInstants({ since, until }) }, chosenBy.join(' ') || 'any');
    }
    const ids = 'ids' in body ? body.ids : [];
    for (const id of ids) found(id, await findDelivery(ctx, id));
    return await replayDeliveries(ctx, by, { ids, failed: body.failed === true });
  },
});

/** The first and the last instant of days. */
function toInstants({ since, until }: { since?: string | undefined; until?: string | undefined }) {
  return { since: since && `${since}T00:00:00.000Z`, until: until && `${until}T23:59:59.999Z` };
}

function found<T>(id: number, value: T | undefined): T {
  if (value === undefined) throw new AppError('not_found', `There is no delivery ${id}`);
  return value;
}

function toShown({ bodySha256, headers, ...delivery }: ListedDelivery) {
  return {
    ...delivery,
    bodySha256: digestOf(bodySha256).toString('hex'),
    headers: JSON.parse(headers) as Record<string, string>,
  };
}

export const deliveryOperations = [listAllDeliveries, getDelivery, getDeliveryBody, replay];
