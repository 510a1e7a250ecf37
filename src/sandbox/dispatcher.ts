import { type Clock, toInstant } from '../lib/clock.ts';
import { createDeliveryQueue } from './delivery-queue.ts';
import { settleAttempt } from './delivery-rules.ts';
import type { DeliveryFaults } from './faults/delivery-faults.ts';
import type { Delivery, SandboxState } from './sandbox-state.ts';
import { type HeaderPrefix, type SendDelivery, signDelivery } from './send-delivery.ts';
import type { Timeline } from './timeline.ts';

/** Makes each attempt when it is due, from `start` to `stop`. */
export interface Dispatcher {
  start(): void;
  /** Ends the attempts in flight. They do not count, and are due again after the next start. */
  stop(): Promise<void>;
  /** Makes a delivery due in `waitMs` of the timeline. */
  queue(delivery: Delivery, waitMs: number): void;
  /** Looks for what is due; to be called after an endpoint was enabled. */
  wake(): void;
  /** Resolves when no attempt is in flight and none is due. */
  idle(): Promise<void>;
  /** Moves the timeline forward, and makes each attempt that becomes due at its own time. */
  advance(ms: number): Promise<void>;
}

interface Deps {
  state: SandboxState;
  clock: Clock;
  timeline: Timeline;
  headerPrefix: HeaderPrefix;
  send: SendDelivery;
  faults: DeliveryFaults;
}

export function createDispatcher(deps: Deps): Dispatcher {
  const { timeline } = deps;
  const deliveries = createDeliveryQueue();
  const inFlight = new Set<Promise<void>>();
  let running: AbortController | undefined;
  let cancelTimer = (): void => {};

  async function attempt(delivery: Delivery, signal: AbortSignal): Promise<void> {
    await attemptDelivery(deps, delivery, signal);
    deliveries.giveBack(delivery);
    wake();
  }

  function wake(): void {
    cancelTimer();
    if (running === undefined) return;
    for (const delivery of deliveries.takeDue(timeline.nowMs())) {
      const attempted = attempt(delivery, running.signal).finally(() => inFlight.delete(attempted));
      inFlight.add(attempted);
    }
    const nextMs = deliveries.nextDueAtMs();
    // A due delivery that still waits is behind attempts in flight, and their end calls this again.
    if (nextMs !== undefined && nextMs > timeline.nowMs()) {
      cancelTimer = timeline.wakeAt(nextMs, wake);
    }
  }

  async function idle(): Promise<void> {
    while (inFlight.size > 0) await Promise.all(inFlight);
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = timeline.nowMs() + ms;
    await idle();
    for (let nextMs = deliveries.nextDueAtMs(); running; nextMs = deliveries.nextDueAtMs()) {
      timeline.moveTo(Math.min(nextMs ?? untilMs, untilMs));
      wake();
      await idle();
      if (nextMs === undefined || nextMs > untilMs) return;
    }
  }

  return {
    start() {
      running = new AbortController();
      wake();
    },
    async stop() {
      running?.abort();
      running = undefined;
      cancelTimer();
      await idle();
    },
    queue(delivery, waitMs) {
      delivery.dueAtMs = timeline.nowMs() + waitMs;
      deliveries.add(delivery);
      wake();
    },
    wake,
    idle,
    advance,
  };
}

async function attemptDelivery(deps: Deps, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const at = toInstant(deps.clock.now());
  const signed = signDelivery(delivery, deps.headerPrefix, deps.clock);
  const { request, isCorrupted } = deps.faults.distort(delivery, signed);
  const outcome = await deps.send(request, signal);
  if (signal.aborted) return;
  const result = { at, httpStatus: null, error: null, ...outcome, isCorrupted };
  const nowMs = deps.timeline.nowMs();
  settleAttempt(deps.state, delivery, result, nowMs);
  deps.faults.followAttempt(delivery, nowMs);
}
