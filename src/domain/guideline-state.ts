/**
 * What the last look found in a project of a tool. `shown`: what is published for its job. `edited`: not what Gangway last
 * wrote. `foreign`: a text that Gangway never wrote. `disputed`: several manuals claim the project. `refused`: it cannot be
 * written until something changes. `failing`: the tool did not answer. `unclaimed`: nothing is published for it (any more),
 * and the tool keeps what it shows.
 */
export const guidelineStates = ['shown', 'edited', 'foreign', 'disputed', 'refused', 'failing', 'unclaimed'] as const;
export type GuidelineState = (typeof guidelineStates)[number];

/** After this many looks without an answer, an operator should know. */
const worryingLooks = 3;

/** States that only an operator ends. */
const blockedStates: ReadonlySet<GuidelineState> = new Set(['edited', 'foreign', 'disputed', 'refused']);

/** Whether an operator should act. */
export function isBlocked({ state, failures }: { state: GuidelineState; failures: number }): boolean {
  return blockedStates.has(state) || (state === 'failing' && failures >= worryingLooks);
}
