import type { RequestHandler } from 'express';
import express, { type Express } from 'express';
import { AppError } from '../domain/errors.ts';
import type { Readiness } from '../lib/readiness.ts';
import { createErrorHandler, sendError } from './error-response.ts';
import { createWebhookRoute, type WebhookRouteDeps } from './webhook-route.ts';

/**
 * The public listener. A delivery that it answers with 200 is stored. A request that it cannot trust
 * costs no more than a counter. No answer waits for a tool.
 */
export interface ReceiverDeps extends WebhookRouteDeps {
  readiness: Readiness;
}

/** Without a parameter, because Express would decode it, and would answer differently if it cannot. */
const webhookPath = /^\/webhooks\/[^/]+\/?$/;

export function createReceiverApp(deps: ReceiverDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');

  app
    .route(webhookPath)
    .post(createWebhookRoute(deps))
    .all((_request, response) => {
      response.set('Allow', 'POST').set('Connection', 'close');
      sendError(response, new AppError('method_not_allowed', 'Deliveries come by POST'));
    });

  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', createReadyRoute(deps.readiness));

  app.use((_request, response) => {
    response.set('Connection', 'close');
    sendError(response, new AppError('not_found', 'There is nothing at this address'));
  });
  app.use(createErrorHandler(deps.logger, deps.quiet));
  return app;
}

/** `/readyz` says whether a delivery can be stored now, and nothing more. */
function createReadyRoute(readiness: Readiness): RequestHandler {
  return async (_request, response) => {
    const status = await readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
  };
}
