import { settleAttempt } from './delivery-rules.ts';
import { distort, followAttempt } from './faults/delivery-faults.ts';
import type { Marketplace } from './marketplace.ts';
import type { Delivery, SandboxEndpoint } from './sandbox-state.ts';
import { sendDelivery, signDelivery } from './send-delivery.ts';

/** Makes each attempt when it is due, while the sandbox runs. */

/** The most simultaneous connections to one receiver. */
const maxAttemptsPerEndpoint = 32;

export function startDelivering(marketplace: Marketplace): void {
  marketplace.running = new AbortController();
  wake(marketplace);
}

/** Ends the attempts in flight. They are not counted, and are due again after the next start. */
export async function stopDelivering(marketplace: Marketplace): Promise<void> {
  marketplace.running?.abort();
  marketplace.running = undefined;
  marketplace.cancelTimer();
  await idle(marketplace);
}

/** Makes a delivery due in `waitMs` of the timeline. */
export function queueDelivery(marketplace: Marketplace, delivery: Delivery, waitMs: number): void {
  delivery.dueAtMs = marketplace.timeline.nowMs() + waitMs;
  marketplace.open.add(delivery);
  wake(marketplace);
}

/** Starts due deliveries. Call it after an endpoint was enabled. */
export function wake(marketplace: Marketplace): void {
  const { running, timeline, inFlight } = marketplace;
  marketplace.cancelTimer();
  if (running === undefined) return;
  for (const delivery of listDue(marketplace)) inFlight.set(delivery, attempt(marketplace, delivery, running.signal));
  const nextMs = nextDueAtMs(marketplace);
  // A due delivery that still waits is behind attempts in flight, which call this again when they end.
  if (nextMs !== undefined && nextMs > timeline.nowMs()) {
    marketplace.cancelTimer = timeline.wakeAt(nextMs, () => wake(marketplace));
  }
}

/** Resolves when no attempt is in flight and none is due. */
export async function idle({ inFlight }: Marketplace) {
  while (inFlight.size > 0) await Promise.all(inFlight.values());
  return { isIdle: true };
}

/** Moves the timeline forward, and makes each attempt that becomes due at its own time. */
export async function advance(marketplace: Marketplace, ms: number) {
  const { timeline } = marketplace;
  const untilMs = timeline.nowMs() + ms;
  await idle(marketplace);
  while (marketplace.running !== undefined) {
    const nextMs = nextDueAtMs(marketplace);
    timeline.moveTo(Math.min(nextMs ?? untilMs, untilMs));
    wake(marketplace);
    await idle(marketplace);
    if (nextMs === undefined || nextMs > untilMs) break;
  }
  return { advancedMs: ms };
}

async function attempt(marketplace: Marketplace, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { state, now, dice, timeline, options, inFlight } = marketplace;
  const at = now();
  const signed = signDelivery(delivery, options.headerPrefix ?? 'X-OpenTrain-', at);
  const { request, isCorrupted } = distort(dice, delivery, signed);
  const outcome = await sendDelivery(request, options.deliveryTimeoutMs ?? 10_000, signal);
  if (!signal.aborted) {
    const nowMs = timeline.nowMs();
    settleAttempt(state, delivery, { at, httpStatus: null, error: null, ...outcome, isCorrupted }, nowMs);
    followAttempt(delivery, nowMs);
  }
  inFlight.delete(delivery);
  wake(marketplace);
}

function listDue(marketplace: Marketplace): Delivery[] {
  const nowMs = marketplace.timeline.nowMs();
  const counts = new Map<SandboxEndpoint, number>();
  const countOne = ({ endpoint }: Delivery) => counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
  for (const delivery of marketplace.inFlight.keys()) countOne(delivery);
  const due: Delivery[] = [];
  for (const delivery of listWaiting(marketplace)) {
    if (delivery.dueAtMs > nowMs || (counts.get(delivery.endpoint) ?? 0) >= maxAttemptsPerEndpoint) continue;
    countOne(delivery);
    due.push(delivery);
  }
  return due;
}

/** When the next delivery is due, on the timeline; undefined if none waits. */
function nextDueAtMs(marketplace: Marketplace): number | undefined {
  let next: number | undefined;
  for (const { dueAtMs } of listWaiting(marketplace)) next = Math.min(next ?? dueAtMs, dueAtMs);
  return next;
}

function* listWaiting({ open, inFlight }: Marketplace): Generator<Delivery> {
  for (const delivery of open) {
    if (inFlight.has(delivery)) continue;
    if (delivery.status !== 'PENDING') open.delete(delivery);
    else if (delivery.endpoint.status === 'ACTIVE') yield delivery;
  }
}
