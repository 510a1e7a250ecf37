import type { HeldReason } from '../../domain/usage.ts';

/** Why the marketplace has something else than is due. */
export const describeDifference = {
  not_begun: 'its day has not started in UTC',
  not_sent: 'to be sent with the next report',
  held: 'held for your decision: see "gangway usage held"',
  discarded: 'discarded by an operator',
  lowering_held: 'held because it would be lowered: see "gangway usage held"',
  refused: 'refused by the marketplace',
  unsent: 'could not be sent',
  in_doubt: 'unknown: a request may have arrived, or may still arrive',
  late: 'changed after its last report: see "gangway usage held"',
  dismissed: 'changed after its last report, and dismissed by an operator',
  unseen: 'no longer seen; what was reported stays',
} as const;

export type WhyDifferent = keyof typeof describeDifference;

/** Why work is held. */
export const describeHeld: Record<HeldReason, string> = {
  no_contract: 'the trainer has no contract there',
  before_start: 'done before the contract started',
  after_end: 'done after the contract ended',
  several_contracts: 'several contracts were active at that time',
  unknown_instants: 'several contracts were active that day, and the time of some work is unknown',
  first_total: 'a total seen for the first time, which may include work from before the contract',
  two_sources: 'counted by two sources: a tool and an import, or two imports',
  over_a_day: 'more than 24 hours in one day',
  negative: 'less than zero',
};
