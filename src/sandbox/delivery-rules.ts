import { minuteMs } from '../lib/clock.ts';
import { Refusal } from './error-response.ts';
import type { Marketplace } from './marketplace.ts';
import {
  type Attempt,
  type Delivery,
  deliveriesOfEndpoint,
  endpointsOfInstall,
  type SandboxEndpoint,
  type SandboxState,
} from './sandbox-state.ts';

/** Four waits between five attempts. */
const retryWaitsMs = [1 * minuteMs, 5 * minuteMs, 30 * minuteMs, 120 * minuteMs];

/** The specification says "within about five minutes", and a client must not rely on less. */
export const redeliveryWaitMs = 5 * minuteMs;

const maxConsecutiveFailures = 10;

/**
 * A platform's endpoint counts every failed attempt; an employer's counts deliveries whose attempts are all used up. The
 * count runs over all deliveries of the endpoint until an attempt succeeds.
 */
export function settleAttempt(state: SandboxState, delivery: Delivery, attempt: Attempt, nowMs: number): void {
  delivery.attempts.push(attempt);
  const { endpoint } = delivery;
  const isAccepted = Math.floor((attempt.httpStatus ?? 0) / 100) === 2;
  if (isAccepted && delivery.status !== 'DISCARDED') delivery.status = 'DELIVERED';
  if (isAccepted && endpoint.status === 'ACTIVE') endpoint.consecutiveFailures = 0;
  if (!isAccepted) markFailed(state, delivery, attempt.at, nowMs);
}

function markFailed(state: SandboxState, delivery: Delivery, at: string, nowMs: number): void {
  const { endpoint } = delivery;
  if (delivery.status === 'PENDING') postpone(delivery, nowMs);
  if (endpoint.status !== 'ACTIVE') return;
  if (endpoint.audience === 'employer' && delivery.status !== 'FAILED') return;
  endpoint.consecutiveFailures += 1;
  if (endpoint.consecutiveFailures < maxConsecutiveFailures) return;
  disableEndpoint(state, endpoint, `${maxConsecutiveFailures} consecutive failed deliveries`, at);
}

function postpone(delivery: Delivery, nowMs: number): void {
  const waitMs = retryWaitsMs[delivery.failures];
  delivery.failures += 1;
  if (waitMs === undefined) delivery.status = 'FAILED';
  else delivery.dueAtMs = nowMs + waitMs;
}

/** @param owner an install or an employer's account. @throws Refusal if it has as many as it may have */
export function createEndpoint(
  { state, ids, now, options }: Marketplace,
  owner: { id: string },
  audience: SandboxEndpoint['audience'],
  { url, eventTypes }: Pick<SandboxEndpoint, 'url' | 'eventTypes'>,
): SandboxEndpoint {
  const limit = options.endpointsPerInstall ?? 10;
  if (endpointsOfInstall(state, owner).length >= limit) {
    throw new Refusal('conflict', `There are ${limit} endpoints, which is the limit`, { limit });
  }
  const endpoint: SandboxEndpoint = {
    id: ids.next(audience === 'platform' ? 'whe' : 'wh'),
    installId: owner.id,
    audience,
    url,
    eventTypes: [...new Set(eventTypes)],
    status: 'ACTIVE',
    secret: ids.nextCredential('whsec'),
    createdAt: now(),
    ...unharmed,
  };
  state.endpoints.set(endpoint.id, endpoint);
  return endpoint;
}

const unharmed = { consecutiveFailures: 0, disabledAt: null, disabledReason: null };

export function disableEndpoint(state: SandboxState, endpoint: SandboxEndpoint, reason: string, at: string): void {
  Object.assign(endpoint, { status: 'DISABLED', disabledAt: at, disabledReason: reason });
  closePending(state, endpoint, 'FAILED');
}

export function enableEndpoint(endpoint: SandboxEndpoint): void {
  Object.assign(endpoint, { status: 'ACTIVE', ...unharmed });
}

export function deleteEndpoint(state: SandboxState, endpoint: SandboxEndpoint): void {
  closePending(state, endpoint, 'DISCARDED');
  state.endpoints.delete(endpoint.id);
}

function closePending(state: SandboxState, endpoint: SandboxEndpoint, status: 'FAILED' | 'DISCARDED'): void {
  for (const delivery of deliveriesOfEndpoint(state, endpoint)) {
    if (delivery.status === 'PENDING') delivery.status = status;
  }
}

/** Keeps the id and body, and allows five attempts again. */
export function reopen(delivery: Delivery): void {
  delivery.status = 'PENDING';
  delivery.failures = 0;
}
