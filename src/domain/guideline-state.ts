/**
 * What the last look found in a project of a tool. `shown`: what is published for its job. `edited`: not what Gangway
 * wrote last. `foreign`: a text, although Gangway has never written one. `disputed`: several manuals claim the project.
 * `refused`: it cannot be written until something changes. `failing`: the tool did not answer. `unclaimed`: nothing is
 * published for it (any more), and the tool keeps what it shows.
 */
export const guidelineStates = ['shown', 'edited', 'foreign', 'disputed', 'refused', 'failing', 'unclaimed'] as const;
export type GuidelineState = (typeof guidelineStates)[number];
