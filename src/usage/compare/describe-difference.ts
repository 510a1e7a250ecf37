import type { HeldReason } from '../attribute/share-work.ts';
import type { WhyDifferent } from './explain-day.ts';

/** Why the marketplace has something else than was read. */
export const describeDifference: Record<WhyDifferent, string> = {
  not_begun: 'its day has not begun in UTC',
  not_sent: 'to be sent with the next report',
  lowering_held: 'held: it would be lowered, see "gangway usage held"',
  refused: 'refused by the marketplace',
  unsent: 'could not be sent',
  in_doubt: 'in doubt: a request may have arrived, or may arrive',
  left_lookback: 'changed after it was sent for the last time',
  unseen: 'not seen any more: what was reported stays',
};

/** Why work is held. */
export const describeHeld: Record<HeldReason, string> = {
  no_contract: 'they are on no contract there',
  before_start: 'before the contract began',
  after_end: 'after the contract had ended',
  several_contracts: 'several contracts ran at once',
  unknown_instants: 'one contract followed another that day, and not all is known by instants',
  two_sources: 'both a tool and an import tell of it',
  over_a_day: 'more than 24 hours',
  negative: 'less than nothing',
};
