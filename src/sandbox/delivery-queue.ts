import type { Delivery, SandboxEndpoint } from './sandbox-state.ts';

/** The deliveries that are not settled. */
export interface DeliveryQueue {
  add(delivery: Delivery): void;
  /** The deliveries to attempt at `nowMs`. None is taken again until it is given back. */
  takeDue(nowMs: number): Delivery[];
  giveBack(delivery: Delivery): void;
  /** When the next delivery is due, on the timeline; undefined if none waits. */
  nextDueAtMs(): number | undefined;
}

/** The greatest number of connections to one receiver at once. */
const maxTakenPerEndpoint = 32;

export function createDeliveryQueue(): DeliveryQueue {
  const open = new Set<Delivery>();
  const taken = new Set<Delivery>();

  function* waiting(): Generator<Delivery> {
    for (const delivery of open) {
      if (taken.has(delivery)) continue;
      if (delivery.status !== 'PENDING') open.delete(delivery);
      else if (delivery.endpoint.status === 'ACTIVE') yield delivery;
    }
  }

  return {
    add: (delivery) => open.add(delivery),
    takeDue(nowMs) {
      const takenOf = countByEndpoint(taken);
      const due: Delivery[] = [];
      for (const delivery of waiting()) {
        const count = takenOf.get(delivery.endpoint) ?? 0;
        if (delivery.dueAtMs > nowMs || count >= maxTakenPerEndpoint) continue;
        takenOf.set(delivery.endpoint, count + 1);
        taken.add(delivery);
        due.push(delivery);
      }
      return due;
    },
    giveBack: (delivery) => taken.delete(delivery),
    nextDueAtMs() {
      let next: number | undefined;
      for (const { dueAtMs } of waiting()) next = Math.min(next ?? dueAtMs, dueAtMs);
      return next;
    },
  };
}

function countByEndpoint(deliveries: Iterable<Delivery>): Map<SandboxEndpoint, number> {
  const counts = new Map<SandboxEndpoint, number>();
  for (const { endpoint } of deliveries) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
  return counts;
}
