import express, { type Express } from 'express';
import { AppError } from '../domain/errors.ts';
import type { Control } from './control.ts';
import { createControlRouter } from './control-router.ts';
import { sendError } from './error-response.ts';
import type { Marketplace } from './marketplace.ts';
import { createPlatformRouter } from './platform-router.ts';

export const platformPath = '/api/partner/v1';

/** Both sides of the marketplace as one HTTP application. */
export function createSandboxApp(marketplace: Marketplace, control: Control): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(platformPath, createPlatformRouter(marketplace));
  app.use('/sandbox', createControlRouter(control, marketplace.dispatcher));
  app.use(() => {
    throw new AppError('not_found', `The platform API is at ${platformPath}`);
  });
  app.use(sendError);
  return app;
}
