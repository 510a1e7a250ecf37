import express, { type Express } from 'express';
import { AppError } from '../domain/errors.ts';
import { createQuiet } from '../lib/quiet.ts';
import type { Readiness } from '../lib/readiness.ts';
import { createErrorHandler, sendError } from './refusals.ts';
import { createWebhookRoute, type WebhookParts } from './webhook-route.ts';

/**
 * The public listener. A delivery that it answers with 200 is stored. A request that it cannot trust
 * costs no more than a counter. No answer waits for a tool.
 */
export interface ReceiverParts extends WebhookParts {
  readiness: Readiness;
}

/** Without a parameter, because Express would decode it, and would answer differently if it cannot. */
const webhookPath = /^\/webhooks\/[^/]+\/?$/;

export function createReceiverApp(parts: ReceiverParts): Express {
  const quiet = createQuiet(parts.clock);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');

  app
    .route(webhookPath)
    .post(createWebhookRoute(parts, quiet))
    .all((_request, response) => {
      response.set('Allow', 'POST').set('Connection', 'close');
      sendError(response, new AppError('method_not_allowed', 'Deliveries come by POST'));
    });

  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  // It says whether a delivery can be stored now, and nothing more.
  app.get('/readyz', async (_request, response) => {
    const status = await parts.readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
  });

  app.use((_request, response) => {
    response.set('Connection', 'close');
    sendError(response, new AppError('not_found', 'There is nothing at this address'));
  });
  app.use(createErrorHandler(parts.logger, quiet));
  return app;
}
