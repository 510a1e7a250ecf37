/**
 * The sandbox is the simulated marketplace: the platform API and the API for employers, their deliveries with
 * their real waits on a clock that can be moved, and controls for what customers and employers do. Its
 * state is in memory. It never imports the bridge that is tried against it, so that both cannot make the
 * same mistake.
 */
import { randomUUID } from 'node:crypto';
import express, { type Express, type RequestHandler } from 'express';
import { AppError } from '../domain/errors.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import { createApiRouter } from './api-router.ts';
import { createControlRouter } from './control-router.ts';
import { type Control, createControl } from './controls.ts';
import { createDeliverEvent } from './deliver-event.ts';
import { createDispatcher } from './dispatcher.ts';
import { admitAccount, employerRoutes } from './employer/employer-api.ts';
import { createRaiseFeed } from './employer/raise-feed.ts';
import { answerError } from './error-response.ts';
import { createDeliveryFaults } from './faults/delivery-faults.ts';
import { createFaultDice } from './faults/fault-dice.ts';
import type { WantedFaults } from './faults/faults-schema.ts';
import { createIds } from './ids.ts';
import type { Marketplace } from './marketplace.ts';
import { describeEmployerApi, describePlatformApi } from './openapi.ts';
import { admitInstall, platformRoutes } from './platform-api.ts';
import { createRaiseEvents } from './raise-events.ts';
import { createSandboxState } from './sandbox-state.ts';
import { createSendDelivery, type HeaderPrefix } from './send-delivery.ts';
import { createTimeline } from './timeline.ts';

const platformPath = '/api/partner/v1';
const employerPath = '/api/public/v1';

export interface SandboxOptions {
  host?: string;
  /** 0, the default, takes a free port. */
  port?: number;
  /** The same seed gives the same ids, tokens and secrets, and the same faults. */
  seed?: string;
  /** The faults of all installs until `setFaults` is called. */
  faults?: WantedFaults;
  /** How much faster than real time the timeline moves; at 0 only `advance` moves it. */
  timeScale?: number;
  /** For timestamps and signatures. */
  clock?: Clock;
  deliveryTimeoutMs?: number;
  headerPrefix?: HeaderPrefix;
  /** `minimal` events have only what part B of the specification guarantees. */
  payloads?: 'full' | 'minimal';
  /** Whether the events of several links about the same change have the same id. */
  sharesEventIds?: boolean;
  /** Whether the list of contracts has cursors. */
  cursors?: boolean;
  linksPerInstall?: number;
  endpointsPerInstall?: number;
}

interface SandboxAddress {
  url: string;
  /** The base address of the platform API. */
  baseUrl: string;
  /** The base address of the API for employers. */
  employerBaseUrl: string;
}

export interface Sandbox extends Control {
  /** After a stop it listens on the same port again, and goes on with the pending deliveries. */
  start(): Promise<SandboxAddress>;
  stop(): Promise<void>;
}

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const marketplace = createMarketplace(options);
  const { dispatcher } = marketplace;
  const control = createControl(marketplace);
  control.setFaults(undefined, options.faults);
  const listener = createApp(marketplace);
  const { host = '127.0.0.1' } = options;
  let { port = 0 } = options;
  let server: HttpServer | undefined;
  return {
    ...control,
    async start() {
      server = createHttpServer({ host, port, listener, graceMs: 0 });
      const url = await server.start();
      port = Number(new URL(url).port);
      dispatcher.start();
      return { url, baseUrl: `${url}${platformPath}`, employerBaseUrl: `${url}${employerPath}` };
    },
    async stop() {
      await dispatcher.stop();
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
  const platformApi = { routes: platformRoutes, admit: admitInstall, describe: describePlatformApi };
  const employerApi = { routes: employerRoutes, admit: admitAccount, describe: describeEmployerApi };
  app.use(platformPath, createApiRouter(marketplace, platformApi), refuseUnknown('The platform API'));
  app.use(employerPath, createApiRouter(marketplace, employerApi), refuseUnknown('The API'));
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

function createMarketplace(options: SandboxOptions): Marketplace {
  const state = createSandboxState();
  const clock = options.clock ?? systemClock;
  const { seed = randomUUID() } = options;
  const ids = createIds(seed);
  const dice = createFaultDice(seed);
  const faults = createDeliveryFaults(dice);
  const dispatcher = createDispatcher({
    state,
    clock,
    timeline: createTimeline(options.timeScale ?? 1),
    headerPrefix: options.headerPrefix ?? 'X-OpenTrain-',
    send: createSendDelivery(options.deliveryTimeoutMs ?? 10_000),
    faults,
  });
  const deliver = createDeliverEvent({ state, ids, dice, faults, queue: dispatcher.queue });
  const raiseEvents = createRaiseEvents({
    ids,
    clock,
    payloads: options.payloads ?? 'full',
    sharesEventIds: options.sharesEventIds ?? false,
    deliver,
  });
  const raiseFeed = createRaiseFeed({ ids, clock, deliver });
  const limits = {
    linksPerInstall: options.linksPerInstall ?? 500,
    endpointsPerInstall: options.endpointsPerInstall ?? 10,
  };
  const hasCursors = options.cursors ?? false;
  return { state, ids, clock, raiseEvents, raiseFeed, dispatcher, dice, limits, hasCursors };
}
