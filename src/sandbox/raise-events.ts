import { type Clock, toInstant } from '../lib/clock.ts';
import type { DeliverEvent } from './deliver-event.ts';
import type { Ids } from './ids.ts';
import type { SandboxEventType, SandboxInstall } from './sandbox-state.ts';

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
  ids: Ids;
  clock: Clock;
  /** `minimal` events have only what part B of the specification guarantees. */
  payloads: 'full' | 'minimal';
  /** Whether the events of several links about the same change have the same id. */
  sharesEventIds: boolean;
  deliver: DeliverEvent;
}

export function createRaiseEvents(deps: Deps): RaiseEvents {
  const { clock, ids, payloads, deliver } = deps;
  return (occurrences) => {
    const sharedId = deps.sharesEventIds ? ids.nextEventId() : undefined;
    for (const { type, install, resourceId, jobId, data } of occurrences) {
      const id = sharedId ?? ids.nextEventId();
      const event = { id, type, apiVersion: 'v1', createdAt: toInstant(clock.now()), resourceId, jobId, data };
      deliver(install, event, JSON.stringify(payloads === 'full' ? event : toMinimalEvent(event)));
    }
  };
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
