import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { toAppError } from '../domain/errors.ts';
import { rotateEndpoint } from '../subscription/change-endpoint.ts';
import { describeSubscription, redeliver } from '../subscription/look-at-subscription.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { pickInstalls } from './pick-installs.ts';
import { formatTable } from './text-table.ts';
import { count, maybeInstant, maybeText, named, ofInstall, text, theInstall } from './values.ts';

/** The webhook endpoints at the marketplace: where they deliver to, and whether they work. */

export const Endpoint = named('Endpoint', {
  install: z.string(),
  endpointId: maybeText.optional(),
  url: maybeText.optional(),
  status: maybeText.optional(),
  missingEventTypes: z.array(z.string()).optional(),
  consecutiveFailures: z.int().nullable().optional(),
  checkedAt: maybeInstant.optional(),
  trouble: maybeText.optional(),
  action: maybeText.optional(),
  failure: maybeText.describe('Why the marketplace could not be asked.'),
});

export const operations = group('endpoint', {
  status: read('GET /endpoints', 'Ask the marketplace how the webhook endpoints are doing', {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ endpoints: z.array(Endpoint) }),
    async run({ install: named }, ctx, { signal }) {
      const endpoints: z.input<typeof Endpoint>[] = [];
      for (const install of pickInstalls(ctx, named)) endpoints.push(await endpointOf(ctx, install, signal));
      return { endpoints };
    },
    show: ({ endpoints }) => endpoints.map(describe).join('\n\n') || 'No customer is connected yet.',
    status: ({ endpoints }) => (endpoints.some(({ failure }) => failure !== null) ? 1 : 0),
  }),
  rotate: act('POST /installs/{install}/endpoint/rotate', 'Replace the webhook endpoint and its secret without a gap', {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({ install: theInstall }),
    out: z.object({
      install: z.string(),
      endpointId: z.string(),
      replaced: z.array(z.string()),
      hadGap: z.boolean(),
      hasConfiguredSecrets: z.boolean(),
    }),
    async run({ install }, ctx, { by, signal }) {
      const rotated = await rotateEndpoint(ctx, install, { signal });
      const change = { before: rotated.replaced.join(', '), after: rotated.endpointId };
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'endpoint rotate', install, change));
      return { install, ...rotated };
    },
    show: ({ install, endpointId, replaced, hadGap, hasConfiguredSecrets }) =>
      [
        `${install} has the webhook endpoint ${endpointId} instead of ${replaced.join(', ')}.`,
        ...(hadGap ? ['The marketplace had no room for two, so there was a gap: the install is read again.'] : []),
        ...(hasConfiguredSecrets ? [`Remove installs.${install}.webhookSecrets from the configuration.`] : []),
      ].join('\n'),
  }),
  redeliver: act('POST /installs/{install}/endpoint/redeliver', 'Have the marketplace send again what failed', {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({
      install: theInstall,
      delivery: text
        .optional()
        .describe('Send this delivery again, whether it failed or not: its id at the marketplace.'),
    }),
    out: z.object({
      install: z.string(),
      endpointId: z.string(),
      status: z.string(),
      requeued: count.nullable().describe('How many deliveries; null if the marketplace did not say.'),
    }),
    async run({ install, delivery }, ctx, { by, signal }) {
      const asked = await redeliver(ctx, install, delivery, signal);
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'endpoint redeliver', install));
      return { install, ...asked };
    },
    show: ({ requeued, status }) => {
      const what = requeued === null ? 'What failed' : `${requeued}`;
      const when = status === 'DISABLED' ? 'once the endpoint is enabled again' : 'within five minutes';
      return `${what} will be sent again ${when}.`;
    },
  }),
});

/** With the failure, if the marketplace cannot be asked. */
export async function endpointOf(
  ctx: OperationContext,
  install: string,
  signal: AbortSignal,
): Promise<z.input<typeof Endpoint>> {
  try {
    return { ...(await describeSubscription(ctx, install, signal)), failure: null };
  } catch (error) {
    return { install, failure: toAppError(error).message };
  }
}

function describe({ install, failure, trouble, action, ...of }: z.output<typeof Endpoint>): string {
  if (failure !== null) return `${install}: ${failure}`;
  const missing = of.missingEventTypes ?? [];
  const rows = [
    ['install', install],
    ['endpoint', of.endpointId ?? '(none)'],
    ['delivers to', of.url],
    ['status', of.status],
    ['event types', missing.length === 0 ? 'all' : `missing: ${missing.join(', ')}`],
    ['failures in a row', of.consecutiveFailures],
    ['last checked', of.checkedAt ?? 'never: a running "gangway start" checks it'],
  ];
  const shown = formatTable(['', ''], rows).trimStart();
  return trouble ? `${shown}\n  ! ${trouble}\n      → ${action}` : shown;
}
