import { type Clock, toInstant } from '../lib/clock.ts';
import type { DeliveryFaults } from './faults/delivery-faults.ts';
import type { FaultDice } from './faults/fault-dice.ts';
import type { Ids } from './ids.ts';
import {
  type Delivery,
  endpointsOfInstall,
  type SandboxEventType,
  type SandboxInstall,
  type SandboxState,
} from './sandbox-state.ts';

/** Something that happened, as the event for one install says it. */
export interface Occurrence {
  type: SandboxEventType;
  install: SandboxInstall;
  resourceId: string;
  jobId: string | null;
  data: Record<string, unknown>;
}

/** Queues one event per occurrence, for each active endpoint that is subscribed to it. */
export type RaiseEvents = (occurrences: Occurrence[]) => void;

interface Deps {
  state: SandboxState;
  ids: Ids;
  clock: Clock;
  /** `minimal` events have only what part B of the specification guarantees. */
  payloads: 'full' | 'minimal';
  /** Whether the events of several links about the same change have the same id. */
  sharesEventIds: boolean;
  dice: FaultDice;
  faults: DeliveryFaults;
  queue: (delivery: Delivery, waitMs: number) => void;
}

export function createRaiseEvents(deps: Deps): RaiseEvents {
  return (occurrences) => {
    const sharedId = deps.sharesEventIds ? deps.ids.nextEventId() : undefined;
    for (const occurrence of occurrences) {
      const eventId = sharedId ?? deps.ids.nextEventId();
      for (const delivery of toDeliveries(deps, occurrence, eventId)) {
        deps.state.deliveries.set(delivery.id, delivery);
        emit(deps, delivery);
      }
    }
  };
}

function emit({ faults, queue }: Deps, delivery: Delivery): void {
  const sending = faults.planSending(delivery);
  if (sending.isLost) delivery.status = 'LOST';
  else queue(delivery, sending.waitMs);
}

/** An endpoint that is disabled now, or is created later, never gets the event. */
function toDeliveries(
  { state, ids, clock, dice, payloads }: Deps,
  { type, install, resourceId, jobId, data }: Occurrence,
  eventId: string,
): Delivery[] {
  const createdAt = toInstant(clock.now());
  const event = { id: eventId, type, apiVersion: 'v1', createdAt, resourceId, jobId, data };
  const body = JSON.stringify(payloads === 'full' ? event : toMinimalEvent(event));
  return endpointsOfInstall(state, install)
    .filter(({ status, eventTypes }) => status === 'ACTIVE' && eventTypes.includes(type))
    .map((endpoint) => ({
      id: ids.next('dlv'),
      number: dice.countNext(install.id, 'delivery'),
      endpoint,
      eventId,
      type,
      body,
      status: 'PENDING' as const,
      attempts: [],
      failures: 0,
      dueAtMs: 0,
      repeatAfterMs: null,
    }));
}

function toMinimalEvent({ type, resourceId, data }: Pick<Occurrence, 'type' | 'resourceId' | 'data'>) {
  return {
    type,
    resourceId,
    data: {
      ...pick(data, 'contract', ['id']),
      ...pick(data, 'freelancer', ['workEmail', 'displayName']),
    },
  };
}

function pick(data: Record<string, unknown>, name: string, keys: string[]) {
  const value = data[name];
  if (typeof value !== 'object' || value === null) return {};
  const kept = Object.entries(value).filter(([key]) => keys.includes(key));
  return { [name]: Object.fromEntries(kept) };
}
