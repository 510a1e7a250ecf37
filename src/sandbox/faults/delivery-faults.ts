import { reopen } from '../delivery-rules.ts';
import type { Delivery, SandboxEndpoint } from '../sandbox-state.ts';
import type { DeliveryRequest } from '../send-delivery.ts';
import type { FaultDice, FaultTarget } from './fault-dice.ts';

/** The faults of deliveries. */
export interface DeliveryFaults {
  /** Whether a new event is lost, or after which wait it is sent. */
  planSending(delivery: Delivery): { isLost: true } | { isLost: false; waitMs: number };
  /** The request as it is sent, which may differ from what was signed. */
  distort(delivery: Delivery, request: DeliveryRequest): { request: DeliveryRequest; isCorrupted: boolean };
  /** Frees the delivery that waited for this attempt, and plans the repeat of this one. */
  followAttempt(delivery: Delivery, nowMs: number): void;
}

/** The specification says "a few minutes". An event waits no longer, even if no other follows. */
const maxHoldMs = 3 * 60_000;

/** So long that the repeat of one event may come after a later event. */
const maxRepeatWaitMs = 2 * 60_000;

export function createDeliveryFaults(dice: FaultDice): DeliveryFaults {
  /** Only one event per endpoint waits at a time; if all waited, their order would not change. */
  const held = new WeakMap<SandboxEndpoint, Delivery>();

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

/** @param position in the body, from 0 to below 1 */
function flipByte(body: string, position: number): Buffer {
  const bytes = Buffer.from(body);
  const index = Math.floor(position * bytes.length);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}
