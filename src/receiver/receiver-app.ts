import express, { type Express } from 'express';
import { AppError } from '../domain/errors.ts';
import type { Readiness } from '../lib/readiness.ts';
import { createErrorHandler, sendError } from './error-response.ts';
import { createReadyRoute } from './health-route.ts';
import { createWebhookRoute, type WebhookRouteDeps } from './webhook-route.ts';

/**
 * The public edge. It promises that a delivery it answers with 200 is stored, that a request it
 * cannot trust costs nothing but a counter, and that no answer waits for a tool.
 */
export interface ReceiverDeps extends WebhookRouteDeps {
  readiness: Readiness;
}

/** Without a parameter, which Express would decode, and answer differently where it cannot. */
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
