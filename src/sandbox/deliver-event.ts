import type { DeliveryFaults } from './faults/delivery-faults.ts';
import type { FaultDice } from './faults/fault-dice.ts';
import type { Ids } from './ids.ts';
import { type Delivery, endpointsOfInstall, type SandboxState } from './sandbox-state.ts';

/**
 * Queues an event for each active endpoint of an install, or of an employer's account, that is subscribed to it. An
 * endpoint that is disabled now, or is created later, never gets it.
 */
export type DeliverEvent = (
  owner: { id: string },
  event: Pick<Delivery, 'type'> & { id: string },
  body: string,
) => void;

interface Deps {
  state: SandboxState;
  ids: Ids;
  dice: FaultDice;
  faults: DeliveryFaults;
  queue: (delivery: Delivery, waitMs: number) => void;
}

export function createDeliverEvent({ state, ids, dice, faults, queue }: Deps): DeliverEvent {
  return (owner, { id: eventId, type }, body) => {
    const subscribed = endpointsOfInstall(state, owner).filter(
      ({ status, eventTypes }) => status === 'ACTIVE' && eventTypes.includes(type),
    );
    for (const endpoint of subscribed) {
      const delivery: Delivery = {
        id: ids.next('dlv'),
        number: dice.countNext(owner.id, 'delivery'),
        endpoint,
        eventId,
        type,
        body,
        status: 'PENDING',
        attempts: [],
        failures: 0,
        dueAtMs: 0,
        repeatAfterMs: null,
      };
      state.deliveries.set(delivery.id, delivery);
      const sending = faults.planSending(delivery);
      if (sending.isLost) delivery.status = 'LOST';
      else queue(delivery, sending.waitMs);
    }
  };
}
