import type { HeldReason } from '../../domain/usage.ts';
import type { WhyDifferent } from './explain-day.ts';

/** Why the marketplace has something else than is due. */
export const describeDifference: Record<WhyDifferent, string> = {
  not_begun: 'its day has not begun in UTC',
  not_sent: 'to be sent with the next report',
  held: 'held: an operator has to decide, see "gangway usage held"',
  discarded: 'discarded by an operator',
  lowering_held: 'held: it would be lowered, see "gangway usage held"',
  refused: 'refused by the marketplace',
  unsent: 'could not be sent',
  in_doubt: 'in doubt: a request may have arrived, or may arrive',
  late: 'changed after it was sent for the last time, see "gangway usage held"',
  dismissed: 'changed after it was sent for the last time, and dismissed by an operator',
  unseen: 'not seen any more: what was reported stays',
};

/** Why work is held. */
export const describeHeld: Record<HeldReason, string> = {
  no_contract: 'the trainer is on no contract there',
  before_start: 'done before the contract began',
  after_end: 'done after the contract ended',
  several_contracts: 'several contracts ran at that time',
  unknown_instants: 'several contracts ran that day, and it is not known when all of the work was done',
  first_total: 'a total that was seen for the first time, and may be from before the contract',
  two_sources: 'two sources count it: a tool and an import, or two imports',
  over_a_day: 'more than 24 hours in one day',
  negative: 'less than zero',
};
