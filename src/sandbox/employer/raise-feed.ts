import { type Clock, toInstant } from '../../lib/clock.ts';
import type { DeliverEvent } from '../deliver-event.ts';
import type { Ids } from '../ids.ts';
import type { EmployerEventType, FeedEvent, SandboxAccount } from './account.ts';

/** Adds an event to the feed of an account, and delivers it to each webhook that is subscribed to it. */
export type RaiseFeed = (
  account: SandboxAccount,
  type: EmployerEventType,
  said: Pick<FeedEvent, 'resourceId' | 'jobId' | 'data'>,
) => void;

interface Deps {
  ids: Ids;
  clock: Clock;
  deliver: DeliverEvent;
}

export function createRaiseFeed({ ids, clock, deliver }: Deps): RaiseFeed {
  return (account, type, said) => {
    const event: FeedEvent = {
      id: ids.nextEventId(),
      type,
      apiVersion: 'v1',
      createdAt: toInstant(clock.now()),
      ...said,
    };
    account.feed.push(event);
    deliver(account, event, JSON.stringify(event));
  };
}
