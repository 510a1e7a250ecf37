/**
 * The simulated marketplace: the platform API and the API for employers, their deliveries with real waits on a clock that
 * can be moved, and controls for what customers and employers do. Its state is in memory. It never imports the bridge, so
 * that both cannot make the same mistake.
 */
import express, { type Express, type RequestHandler } from 'express';
import { AppError } from '../domain/errors.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import { createApiRouter } from './api-router.ts';
import { createControl, createControlRouter } from './controls.ts';
import { startDelivering, stopDelivering } from './dispatcher.ts';
import { admitAccount, employerRoutes } from './employer/employer-api.ts';
import { authPath, authRoutes } from './employer/identity-routes.ts';
import { answerError } from './error-response.ts';
import type { WantedFaults } from './faults/faults-schema.ts';
import { createMarketplace, type Marketplace, type MarketplaceOptions } from './marketplace.ts';
import { admitInstall, platformRoutes } from './platform-api.ts';

const platformPath = '/api/partner/v1';
const employerPath = '/api/public/v1';

export interface SandboxOptions extends MarketplaceOptions {
  host?: string;
  /** By default a free port. */
  port?: number;
  /** The faults of all installs until `setFaults` is called. */
  faults?: WantedFaults;
}

export type Sandbox = ReturnType<typeof createSandbox>;

export function createSandbox(options: SandboxOptions = {}) {
  const marketplace = createMarketplace(options);
  const control = createControl(marketplace);
  control.setFaults(undefined, options.faults);
  const listener = createApp(marketplace);
  const { host = '127.0.0.1' } = options;
  let { port = 0 } = options;
  let server: HttpServer | undefined;
  return {
    ...control,
    /** After a stop, it listens on the same port again and continues the pending deliveries. */
    async start() {
      server = createHttpServer({ host, port, listener, graceMs: 0 });
      const url = await server.start();
      port = Number(new URL(url).port);
      marketplace.url = url;
      startDelivering(marketplace);
      // The base URLs of the platform API and of the API for employers.
      return { url, baseUrl: `${url}${platformPath}`, employerBaseUrl: `${url}${employerPath}` };
    },
    async stop() {
      await stopDelivering(marketplace);
      await server?.stop();
    },
  };
}

/** The platform API and the controls in one HTTP application. */
function createApp(marketplace: Marketplace): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  const platform = createApiRouter(marketplace, platformRoutes, admitInstall);
  const employer = createApiRouter(marketplace, employerRoutes, admitAccount);
  app.use(platformPath, platform, refuseUnknown('The platform API'));
  app.use(employerPath, employer, refuseUnknown('The API'));
  app.use(authPath, createApiRouter(marketplace, authRoutes, admitAccount), refuseUnknown('The agent API'));
  app.use('/sandbox', createControlRouter(marketplace));
  app.use(() => {
    throw new AppError('not_found', `The platform API is at ${platformPath}, the API for employers at ${employerPath}`);
  });
  app.use(answerError);
  return app;
}

function refuseUnknown(api: string): RequestHandler {
  return () => {
    throw new AppError('not_found', `${api} has no such operation`);
  };
}
