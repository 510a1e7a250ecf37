import { reopen } from '../delivery-rules.ts';
import type { Delivery, SandboxEndpoint } from '../sandbox-state.ts';
import type { DeliveryRequest } from '../send-delivery.ts';
import type { FaultDice, FaultTarget } from './fault-dice.ts';

/** The faults of deliveries. */

/** The specification says "a few minutes". An event waits no longer, even if no other event follows. */
const maxHoldMs = 3 * 60_000;

/** Long enough for the repeat of an event to come after a later event. */
const maxRepeatWaitMs = 2 * 60_000;

/** At most one event per endpoint waits for the next: if all waited, their order would not change. */
const held = new WeakMap<SandboxEndpoint, Delivery>();

/** Whether a new event is lost, or how long it waits. */
export function planSending(dice: FaultDice, delivery: Delivery): { isLost: true } | { isLost: false; waitMs: number } {
  const target = toTarget(delivery);
  if (dice.strike('lose', target) !== undefined) return { isLost: true };
  if (dice.strike('repeat', target) !== undefined) {
    delivery.repeatAfterMs = dice.throwFor(target, 'repeat after') * maxRepeatWaitMs;
  }
  return { isLost: false, waitMs: planWait(dice, delivery, target) };
}

function planWait(dice: FaultDice, delivery: Delivery, target: FaultTarget): number {
  const delay = dice.strike('delay', target);
  if (delay !== undefined) return dice.throwFor(target, 'delay by') * delay.ms;
  const isFree = !isHeld(held.get(delivery.endpoint));
  if (!isFree || dice.strike('reorder', target) === undefined) return 0;
  held.set(delivery.endpoint, delivery);
  return maxHoldMs;
}

/** The request as it is sent, which may differ from the signed one. */
export function distort(
  dice: FaultDice,
  delivery: Delivery,
  request: DeliveryRequest,
): { request: DeliveryRequest; isCorrupted: boolean } {
  const target = toTarget(delivery, ` attempt ${delivery.attempts.length + 1}`);
  if (dice.strike('corrupt', target) === undefined) return { request, isCorrupted: false };
  const body = flipByte(delivery.body, dice.throwFor(target, 'corrupt at'));
  return { request: { ...request, body }, isCorrupted: true };
}

/** Releases the delivery that waited for this attempt, and schedules the repeat of this one. */
export function followAttempt(delivery: Delivery, nowMs: number): void {
  const waiting = held.get(delivery.endpoint);
  if (waiting !== undefined && delivery.number > waiting.number) {
    held.delete(delivery.endpoint);
    if (isHeld(waiting)) waiting.dueAtMs = Math.min(waiting.dueAtMs, nowMs);
  }
  if (delivery.status !== 'DELIVERED' || delivery.repeatAfterMs === null) return;
  reopen(delivery);
  delivery.dueAtMs = nowMs + delivery.repeatAfterMs;
  delivery.repeatAfterMs = null;
}

function isHeld(delivery: Delivery | undefined): boolean {
  return delivery?.status === 'PENDING' && delivery.attempts.length === 0;
}

function toTarget({ id, number, endpoint }: Delivery, suffix = ''): FaultTarget {
  return { installId: endpoint.installId, name: `delivery ${number}${suffix}`, deliveryId: id };
}

/** @param position in the body, from 0 to below 1 */
function flipByte(body: string, position: number): Buffer {
  const bytes = Buffer.from(body);
  const index = Math.floor(position * bytes.length);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}
