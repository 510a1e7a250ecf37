import type { Clock } from '../lib/clock.ts';
import type { Dispatcher } from './deliver.ts';
import type { FaultDice } from './faults/fault-dice.ts';
import type { Ids } from './ids.ts';
import type { RaiseEvents } from './raise-events.ts';
import type { SandboxState } from './sandbox-state.ts';

/** What an operation works with, whether a platform asks for it or the person at the controls. */
export interface Marketplace {
  state: SandboxState;
  ids: Ids;
  clock: Clock;
  raiseEvents: RaiseEvents;
  dispatcher: Dispatcher;
  dice: FaultDice;
  limits: { linksPerInstall: number; endpointsPerInstall: number };
  /** Whether the listing of contracts pages by cursor, which is not documented. */
  hasCursors: boolean;
}
