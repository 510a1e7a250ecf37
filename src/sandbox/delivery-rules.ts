import { toInstant } from '../lib/clock.ts';
import type { Marketplace } from './marketplace.ts';
import {
  type Attempt,
  type Delivery,
  deliveriesOfEndpoint,
  type SandboxEndpoint,
  type SandboxState,
} from './sandbox-state.ts';

const minuteMs = 60_000;

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
  if (isAccepted(attempt)) markDelivered(delivery);
  else markFailed(state, delivery, attempt.at, nowMs);
}

function isAccepted({ httpStatus }: Attempt): boolean {
  return httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
}

function markDelivered(delivery: Delivery): void {
  if (delivery.status !== 'DISCARDED') delivery.status = 'DELIVERED';
  if (delivery.endpoint.status === 'ACTIVE') delivery.endpoint.consecutiveFailures = 0;
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

/** @param owner an install or an employer's account */
export function createEndpoint(
  { state, ids, clock }: Marketplace,
  owner: { id: string },
  audience: SandboxEndpoint['audience'],
  { url, eventTypes }: Pick<SandboxEndpoint, 'url' | 'eventTypes'>,
): SandboxEndpoint {
  const endpoint: SandboxEndpoint = {
    id: ids.next(audience === 'platform' ? 'whe' : 'wh'),
    installId: owner.id,
    audience,
    url,
    eventTypes,
    status: 'ACTIVE',
    secret: ids.nextCredential('whsec'),
    createdAt: toInstant(clock.now()),
    consecutiveFailures: 0,
    disabledAt: null,
    disabledReason: null,
  };
  state.endpoints.set(endpoint.id, endpoint);
  return endpoint;
}

export function disableEndpoint(state: SandboxState, endpoint: SandboxEndpoint, reason: string, at: string): void {
  endpoint.status = 'DISABLED';
  endpoint.disabledAt = at;
  endpoint.disabledReason = reason;
  closePending(state, endpoint, 'FAILED');
}

export function enableEndpoint(endpoint: SandboxEndpoint): void {
  endpoint.status = 'ACTIVE';
  endpoint.consecutiveFailures = 0;
  endpoint.disabledAt = null;
  endpoint.disabledReason = null;
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
