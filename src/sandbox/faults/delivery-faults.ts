import { reopen } from '../delivery-rules.ts';
import type { Delivery, WebhookEndpoint } from '../sandbox-state.ts';
import type { DeliveryRequest } from '../sign-delivery.ts';
import type { FaultDice, FaultTarget } from './fault-dice.ts';

/** What goes wrong between the marketplace and a receiver. */
export interface DeliveryFaults {
  /** What becomes of an event that was just raised: it is lost, or sent after a wait. */
  planSending(delivery: Delivery): { isLost: true } | { isLost: false; waitMs: number };
  /** The request as it arrives, which may not be what was signed. */
  distort(delivery: Delivery, request: DeliveryRequest): { request: DeliveryRequest; isCorrupted: boolean };
  /** Lets go of who waited for this attempt, and has what is to be repeated wait for its turn. */
  followAttempt(delivery: Delivery, nowMs: number): void;
}

/** "A few minutes": an event is not held back for longer, though no other follows it. */
const maxHoldMs = 3 * 60_000;

/** After a delivery, so that the repeat of one may come after the first of another. */
const maxRepeatWaitMs = 2 * 60_000;

export function createDeliveryFaults(dice: FaultDice): DeliveryFaults {
  /** One at a time, or with enough of them all would wait and nobody would be overtaken. */
  const held = new WeakMap<WebhookEndpoint, Delivery>();

  function planWait(delivery: Delivery, target: FaultTarget): number {
    const delay = dice.strike('delay', target);
    if (delay !== undefined) return dice.throwFor(target, 'delay by') * delay.ms;
    const isFree = !isHeld(held.get(delivery.endpoint));
    if (!isFree || dice.strike('reorder', target) === undefined) return 0;
    held.set(delivery.endpoint, delivery);
    return maxHoldMs;
  }

  return {
    planSending(delivery) {
      const target = toTarget(delivery);
      if (dice.strike('lose', target) !== undefined) return { isLost: true };
      if (dice.strike('repeat', target) !== undefined) {
        delivery.repeatAfterMs = dice.throwFor(target, 'repeat after') * maxRepeatWaitMs;
      }
      return { isLost: false, waitMs: planWait(delivery, target) };
    },
    distort(delivery, request) {
      const target = toTarget(delivery, ` attempt ${delivery.attempts.length + 1}`);
      if (dice.strike('corrupt', target) === undefined) return { request, isCorrupted: false };
      const body = flipByte(delivery.body, dice.throwFor(target, 'corrupt at'));
      return { request: { ...request, body }, isCorrupted: true };
    },
    followAttempt(delivery, nowMs) {
      const waiting = held.get(delivery.endpoint);
      if (waiting !== undefined && isRaisedAfter(delivery, waiting)) {
        held.delete(delivery.endpoint);
        if (isHeld(waiting)) waiting.dueAtMs = Math.min(waiting.dueAtMs, nowMs);
      }
      if (delivery.status !== 'DELIVERED' || delivery.repeatAfterMs === null) return;
      reopen(delivery);
      delivery.dueAtMs = nowMs + delivery.repeatAfterMs;
      delivery.repeatAfterMs = null;
    },
  };
}

function isHeld(delivery: Delivery | undefined): boolean {
  return delivery?.status === 'PENDING' && delivery.attempts.length === 0;
}

function isRaisedAfter(delivery: Delivery, other: Delivery): boolean {
  return delivery.number > other.number;
}

function toTarget({ id, number, endpoint }: Delivery, suffix = ''): FaultTarget {
  return {
    installId: endpoint.installId,
    name: `delivery ${number}${suffix}`,
    deliveryId: id,
  };
}

/** @param place from 0 to below 1 */
function flipByte(body: string, place: number): Buffer {
  const bytes = Buffer.from(body);
  const index = Math.floor(place * bytes.length);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}
