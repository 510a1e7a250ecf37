import type { Clock } from '../lib/clock.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { RaiseFeed } from './employer/raise-feed.ts';
import type { FaultDice } from './faults/fault-dice.ts';
import type { Ids } from './ids.ts';
import type { RaiseEvents } from './raise-events.ts';
import type { SandboxState } from './sandbox-state.ts';

/** What the operations of the platform API and of the controls share. */
export interface Marketplace {
  state: SandboxState;
  ids: Ids;
  clock: Clock;
  raiseEvents: RaiseEvents;
  raiseFeed: RaiseFeed;
  dispatcher: Dispatcher;
  dice: FaultDice;
  limits: { linksPerInstall: number; endpointsPerInstall: number };
  /** Whether the list of contracts has cursors, which the specification does not describe. */
  hasCursors: boolean;
}
