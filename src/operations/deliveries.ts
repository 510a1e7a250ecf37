import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { deliveryStates } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import { digestOf } from '../inbox/append-store.ts';
import { type ListedDelivery, listDeliveries, listDeliveryIds } from '../inbox/delivery-list-store.ts';
import { readEvent } from '../inbox/event-schema.ts';
import { findBody, findDelivery, replayDeliveriesIn, replayFailedDeliveries } from '../inbox/inbox-store.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { page, pageById, paging } from './paging.ts';
import { type Columns, record, table } from './show.ts';
import { count, day, found, instant, maybeText, named, ofInstall, rowNumber, text } from './values.ts';

/** What the marketplace sent, and what became of it. */

const Delivery = named('Delivery', {
  id: z.int(),
  install: z.string(),
  deliveryId: maybeText.describe("The sender's id."),
  eventType: maybeText,
  subjectId: maybeText,
  receivedAt: instant,
  state: z.enum(deliveryStates),
  attempts: count,
  failure: maybeText,
  readerVersion: z.int().nullable(),
  bodySha256: z.string(),
  headers: z.record(z.string(), z.string()),
});

const DeliveryInFull = Delivery.extend({
  contractId: maybeText.describe('The contract that it names.'),
  trainerId: maybeText.describe('The trainer that it names.'),
  body: maybeText,
  bodyProblem: maybeText.describe('Why there is no body: it was not kept, or its key was lost.'),
}).meta({ id: 'DeliveryInFull' });

export type DeliveryInFull = z.output<typeof DeliveryInFull>;

const filter = {
  install: ofInstall,
  state: z.enum(deliveryStates).optional().describe('Only those in one state.'),
  type: text.optional().describe('Only events of one type.'),
  since: day.optional().describe('Received on this day or later.'),
  until: day.optional().describe('Received on this day or earlier.'),
};

const Chosen = z.union([
  z.strictObject({ ids: z.array(rowNumber).min(1).max(1000).describe('Their numbers in the list.') }),
  z.strictObject({ failed: z.literal(true).describe('All that could not be handled.') }),
  z.strictObject({ matching: z.literal(true).describe('The newest 1,000 that match the filter.'), ...filter }),
]);

/** How many deliveries a filter replays at most. */
const mostReplayed = 1000;
/** How many numbers the subject of the act has. Its `after` has up to 1,000. */
const mostNoted = 50;

const columns: Columns<z.output<typeof Delivery>> = [
  ['delivery', ({ id }) => id, { to: ({ id }) => `/deliveries/${id}` }],
  ['received', ({ receivedAt }) => receivedAt, { as: 'age' }],
  ['install', ({ install }) => install],
  ['type', ({ eventType }) => eventType],
  ['about', ({ subjectId }) => subjectId],
  ['state', ({ state }) => state, { as: 'state' }],
  ['tries', ({ attempts }) => attempts, { align: 'right' }],
  ['problem', ({ failure }) => failure],
];

const one = z.strictObject({ delivery: rowNumber.describe('Its number in the list.') });

export const operations = group('deliveries', {
  list: read('GET /deliveries', 'List deliveries, newest first', {
    in: z.strictObject({ ...filter, ...paging }),
    out: page(Delivery),
    async run({ limit, cursor, ...by }, ctx) {
      const { items, next } = await pageById('deliveries', { limit, cursor }, (before, most) =>
        listDeliveries(ctx.database.kysely, { ...by, ...toInstants(by), before, limit: most }),
      );
      return { items: items.map(toDelivery), next };
    },
    show: table(columns, 'No deliveries match. One appears when the marketplace sends an event to an install.'),
  }),
  show: read('GET /deliveries/{delivery}', 'Show one delivery, whom it names, and its body with addresses masked', {
    in: one,
    out: DeliveryInFull,
    async run({ delivery: id }, ctx) {
      const delivery = toDelivery(found('delivery', id, await findDelivery(ctx, id)));
      return { ...delivery, ...(await readBody(ctx, id)) };
    },
    show: record,
  }),
  body: read(
    'GET /deliveries/{delivery}/body',
    'Print the body of a delivery as it came in; it contains personal data',
    {
      role: 'operator',
      isSecret: true,
      in: one,
      out: z.object({
        id: z.int(),
        body: z.string().describe('The bytes as they came in, in base64, with personal data.'),
      }),
      run: async ({ delivery: id }, ctx) => ({
        id,
        body: found('delivery', id, await findBody(ctx, id)).toString('base64'),
      }),
      show: { bytes: ({ body }) => Buffer.from(body, 'base64') },
    },
  ),
  replay: act('POST /deliveries/replay', 'Handle deliveries again, as if they had just arrived', {
    args: ['ids'],
    in: Chosen,
    out: z.object({
      replayed: z.array(z.int()),
      left: z.array(z.int()).describe('Left out, because Gangway does not use their type and kept no body.'),
      act: z.int().nullable().describe('The row of the audit log; null if nothing was replayed.'),
    }),
    async run(input, ctx, { by }) {
      const isFailed = 'failed' in input;
      const ids = isFailed ? [] : await idsOf(ctx, input);
      return await inTransaction(ctx.database, async (tx) => {
        const replayed = isFailed ? await replayFailedDeliveries(tx, by.at) : await replayDeliveriesIn(tx, ids, by.at);
        const isReplayed = new Set(replayed);
        const left = ids.filter((id) => !isReplayed.has(id));
        if (replayed.length === 0 && !('matching' in input)) return { replayed, left, act: null };
        const subject = `${replayed.length} deliveries: ${sayChosen(input)}`;
        const after = [sayIds('replayed', replayed), sayIds('left, because the body was not kept', left)].join('\n');
        return { replayed, left, act: await writeAudit(tx, by, 'deliveries replay', subject, { after }) };
      });
    },
    show: ({ replayed, left }) =>
      left.length === 0
        ? `${replayed.length} will be handled again.`
        : `${replayed.length} will be handled again. ${left.length} cannot be: nothing uses their type, and their body was not kept.`,
  }),
});

type Chosen = z.output<typeof Chosen>;

/** @throws AppError `not_found` for a number that does not exist */
async function idsOf(ctx: OperationContext, chosen: Exclude<Chosen, { failed: true }>): Promise<number[]> {
  if ('matching' in chosen) {
    const { matching: _, ...by } = chosen;
    return await listDeliveryIds(ctx.database.kysely, { ...by, ...toInstants(by), limit: mostReplayed });
  }
  for (const id of chosen.ids) found('delivery', id, await findDelivery(ctx, id));
  return chosen.ids;
}

function sayChosen(chosen: Chosen): string {
  if ('failed' in chosen) return 'all that failed';
  if ('ids' in chosen) return chosen.ids.slice(0, mostNoted).join(', ');
  const { matching: _, ...by } = chosen;
  const given = Object.entries(by).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => `${name}=${value}`).join(' ') || 'any';
}

function sayIds(what: string, ids: readonly number[]): string {
  const rest = ids.length > mostReplayed ? ` and ${ids.length - mostReplayed} more` : '';
  return `${what}: ${ids.slice(0, mostReplayed).join(' ')}${rest}`;
}

/** The first and the last instant of whole days. */
function toInstants({ since, until }: { since?: string | undefined; until?: string | undefined }) {
  return { since: since && `${since}T00:00:00.000Z`, until: until && `${until}T23:59:59.999Z` };
}

async function readBody(ctx: OperationContext, id: number) {
  const none = { contractId: null, trainerId: null, body: null };
  try {
    const body = await findBody(ctx, id);
    if (body === undefined) return { ...none, bodyProblem: 'The body is gone' };
    const read = readEvent(body);
    const { contract, trainer } = read.outcome === 'event' ? read.event : {};
    const named = { contractId: contract?.id ?? null, trainerId: trainer?.id ?? null };
    return { ...named, body: body.toString('utf8'), bodyProblem: null };
  } catch (error) {
    // The other fields are still true.
    if (!(error instanceof AppError)) throw error;
    return { ...none, bodyProblem: error.message };
  }
}

function toDelivery({ bodySha256, headers, ...delivery }: ListedDelivery) {
  return {
    ...delivery,
    bodySha256: digestOf(bodySha256).toString('hex'),
    headers: JSON.parse(headers) as Record<string, string>,
  };
}
