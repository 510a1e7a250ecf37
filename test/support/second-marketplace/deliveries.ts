import { createHmac } from 'node:crypto';
import type { Delivery, EndpointRecord, InstallRecord, MarketState } from './market-state.ts';

/** Events on their way to the endpoints (spec: platform-api.md, section 5). */

const retryWaitsMs = [1, 5, 30, 120].map((minutes) => minutes * 60_000);
const failuresUntilDisabled = 10;

interface EventContent {
  type: string;
  resourceId: string;
  jobId: string | null;
  data: object;
}

export function raiseEvent(
  state: MarketState,
  { endpoints }: InstallRecord,
  { type, resourceId, jobId, data }: EventContent,
): void {
  const [id, createdAt] = [state.nextEventId(), state.now()];
  const body = JSON.stringify({ id, type, apiVersion: 'v1', createdAt, resourceId, jobId, data });
  const dueAt = state.options.clock.now().getTime();
  for (const endpoint of endpoints.values()) {
    // What is raised while it is disabled is never delivered.
    if (!endpoint.eventTypes.includes(type) || endpoint.status === 'DISABLED') continue;
    const id = state.nextId('dlv');
    const delivery: Delivery = { id, endpoint, type, body, status: 'PENDING', attempts: 0, dueAt };
    endpoint.deliveries.push(delivery);
    state.pending.add(delivery);
  }
}

/** Attempts what is due at the test's time, one by one, until nothing is. */
export async function deliverDue(state: MarketState): Promise<void> {
  for (;;) {
    const now = state.options.clock.now().getTime();
    const due = [...state.pending].filter(({ endpoint, dueAt }) => endpoint.status === 'ACTIVE' && dueAt <= now);
    const [next] = due.sort((one, other) => one.dueAt - other.dueAt);
    if (next === undefined) return;
    await attempt(state, next);
  }
}

async function attempt(state: MarketState, delivery: Delivery): Promise<void> {
  const { endpoint } = delivery;
  delivery.attempts += 1;
  const isTaken = await send(state, delivery);
  // Meanwhile the endpoint may be gone, and this with it.
  if (!state.pending.has(delivery)) return;
  if (isTaken) {
    endpoint.consecutiveFailures = 0;
    finish(state, delivery, 'DELIVERED');
    return;
  }
  endpoint.consecutiveFailures += 1;
  const waitMs = retryWaitsMs[delivery.attempts - 1];
  if (waitMs === undefined) finish(state, delivery, 'FAILED');
  else delivery.dueAt = state.options.clock.now().getTime() + waitMs;
  if (endpoint.consecutiveFailures < failuresUntilDisabled) return;
  endpoint.status = 'DISABLED';
  endpoint.disabledAt = state.now();
  endpoint.disabledReason = `${failuresUntilDisabled} consecutive failures`;
  for (const waiting of endpoint.deliveries) {
    if (waiting.status === 'PENDING') finish(state, waiting, 'FAILED');
  }
}

function finish({ pending }: MarketState, delivery: Delivery, status: 'DELIVERED' | 'FAILED'): void {
  delivery.status = status;
  pending.delete(delivery);
}

async function send({ options }: MarketState, delivery: Delivery): Promise<boolean> {
  const { endpoint, body, type, id } = delivery;
  const seconds = Math.floor(options.clock.now().getTime() / 1000);
  const hex = createHmac('sha256', endpoint.secret).update(`${seconds}.${body}`).digest('hex');
  try {
    const response = await fetch(endpoint.url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'OpenTrain-Partner-Webhooks/1.0',
        'X-OpenTrain-Event': type,
        'X-OpenTrain-Delivery': id,
        'X-OpenTrain-Signature': `t=${seconds},v1=${hex}`,
      },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** Requeues what failed, or a named delivery in any state. */
export function requeue(state: MarketState, endpoint: EndpointRecord, deliveryId: string | undefined): number {
  const chosen =
    deliveryId === undefined
      ? endpoint.deliveries.filter(({ status }) => status === 'FAILED')
      : endpoint.deliveries.filter(({ id }) => id === deliveryId).slice(0, 1);
  for (const delivery of chosen) {
    delivery.status = 'PENDING';
    delivery.attempts = 0;
    delivery.dueAt = state.options.clock.now().getTime();
    state.pending.add(delivery);
  }
  return chosen.length;
}

export function discardDeliveries({ pending }: MarketState, { deliveries }: EndpointRecord): void {
  for (const delivery of deliveries) pending.delete(delivery);
}
