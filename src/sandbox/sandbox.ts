/**
 * The sandbox promises a faithful marketplace on loopback: the platform API of the specification to
 * the letter, its deliveries with their real schedule on a clock that can be hurried, and a hand at
 * the controls. It lives in memory and stands alone: it never imports the bridge that is tried
 * against it, so that the two cannot share a mistake.
 */
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import { type Control, createControl } from './control.ts';
import { createDispatcher } from './deliver.ts';
import { createDeliveryFaults } from './faults/delivery-faults.ts';
import { createFaultDice } from './faults/fault-dice.ts';
import type { WantedFaults } from './faults/faults-schema.ts';
import { createIds } from './ids.ts';
import type { Marketplace } from './marketplace.ts';
import { createRaiseEvents } from './raise-events.ts';
import { createSandboxApp, platformPath } from './sandbox-app.ts';
import { createSandboxState } from './sandbox-state.ts';
import { createSendDelivery } from './send-delivery.ts';
import type { HeaderPrefix } from './sign-delivery.ts';
import { createTimeline } from './timeline.ts';

export interface SandboxOptions {
  host?: string;
  /** 0, the default, takes a free one. */
  port?: number;
  /** The same seed gives the same ids, tokens and secrets, and the same faults. */
  seed?: string;
  /** What goes wrong, for all installs, until `setFaults` says otherwise. */
  faults?: WantedFaults;
  /** How much faster than real time the marketplace waits; at 0 only `advance` ends a wait. */
  timeScale?: number;
  /** The time of day in timestamps and signatures. */
  clock?: Clock;
  deliveryTimeoutMs?: number;
  headerPrefix?: HeaderPrefix;
  /** `minimal`: events carry only what part B of the specification guarantees. */
  payloads?: 'full' | 'minimal';
  /** Whether the events of one happening, one per link, carry the same id. */
  sharesEventIds?: boolean;
  /** Whether the listing of contracts pages by cursor. */
  cursors?: boolean;
  linksPerInstall?: number;
  endpointsPerInstall?: number;
}

interface SandboxAddress {
  url: string;
  /** Where the platform API begins. */
  baseUrl: string;
}

export interface Sandbox extends Control {
  /** After a stop it comes back where it was, and resumes the deliveries it owes. */
  start(): Promise<SandboxAddress>;
  stop(): Promise<void>;
  /** Resolves when no delivery is being attempted and none is due now. */
  idle(): Promise<void>;
  /** Ends waits without waiting: attempts whatever becomes due in the next `ms`, in order. */
  advance(ms: number): Promise<void>;
}

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const marketplace = createMarketplace(options);
  const { dispatcher } = marketplace;
  const control = createControl(marketplace);
  control.setFaults(undefined, options.faults);
  const listener = createSandboxApp(marketplace, control);
  const { host = '127.0.0.1' } = options;
  let { port = 0 } = options;
  let server: HttpServer | undefined;
  return {
    ...control,
    idle: dispatcher.idle,
    advance: dispatcher.advance,
    async start() {
      server = createHttpServer({ host, port, listener, graceMs: 0 });
      const url = await server.start();
      port = Number(new URL(url).port);
      dispatcher.start();
      return { url, baseUrl: `${url}${platformPath}` };
    },
    async stop() {
      await dispatcher.stop();
      await server?.stop();
    },
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
  const raiseEvents = createRaiseEvents({
    state,
    ids,
    clock,
    payloads: options.payloads ?? 'full',
    sharesEventIds: options.sharesEventIds ?? false,
    dice,
    faults,
    queue: dispatcher.queue,
  });
  const limits = {
    linksPerInstall: options.linksPerInstall ?? 500,
    endpointsPerInstall: options.endpointsPerInstall ?? 10,
  };
  const hasCursors = options.cursors ?? false;
  return { state, ids, clock, raiseEvents, dispatcher, dice, limits, hasCursors };
}
