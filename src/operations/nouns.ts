import type { Operation } from './operation.ts';

/** A noun of the command line. Its operations are loaded when it is used. */
export interface Noun {
  about: string;
  load(): Promise<{ operations: readonly Operation[] }>;
}

export const nouns: Readonly<Record<string, Noun>> = {
  status: {
    about: 'Show how Gangway is doing, what happened lately, and what needs you',
    load: () => import('./status.ts'),
  },
  members: {
    about: 'Who belongs to which group of a tool, and who of them Gangway may remove',
    load: () => import('./members.ts'),
  },
  access: { about: 'Who has or had access to which project, and why', load: () => import('./access.ts') },
  explain: {
    about: 'Explain why a trainer has access or not, from contract to login',
    load: () => import('./explain.ts'),
  },
  drift: {
    about: 'What differs between the tools and the memberships that Gangway knows',
    load: () => import('./drift.ts'),
  },
  retire: {
    about: 'Remove people whose install, tool or group is no longer configured',
    load: () => import('./retire.ts'),
  },
  forget: { about: 'Delete the personal data of one person', load: () => import('./forget.ts') },
  plans: { about: 'Removals that the brake holds, for you to decide about', load: () => import('./plans.ts') },
  links: {
    about: 'Projects that are linked at the marketplace, and where they lead',
    load: () => import('./links.ts'),
  },
  deliveries: { about: 'What the marketplace sent, and what became of it', load: () => import('./deliveries.ts') },
  usage: {
    about: 'The work done in the tools, and what is reported of it to the marketplace',
    load: () => import('./usage.ts'),
  },
  hire: {
    about: 'Hire with your own account, from the text of a job to a person at work',
    load: () => import('./hire.ts'),
  },
  milestones: { about: 'How contracts of your own account are funded and paid', load: () => import('./milestones.ts') },
  team: { about: 'The people of your own account, who confirm hires and payments', load: () => import('./team.ts') },
  contracts: { about: 'Contracts, and your decision about one', load: () => import('./contracts.ts') },
  budgets: { about: 'What contracts were funded with, and how much is used', load: () => import('./budgets.ts') },
  reconcile: { about: 'Read the marketplace now, and bring the tools in sync', load: () => import('./reconcile.ts') },
  runs: { about: 'Readings of the marketplace, and what followed from them', load: () => import('./runs.ts') },
  installs: { about: 'The customers that are connected', load: () => import('./installs.ts') },
  endpoint: { about: 'The webhook endpoints at the marketplace', load: () => import('./endpoint.ts') },
  token: { about: 'The tokens of your own accounts at the marketplace', load: () => import('./token.ts') },
  tools: { about: 'The configured tools, and the servers that their people are in', load: () => import('./tools.ts') },
  guidelines: {
    about: 'Guidelines for trainers, from the manuals of the marketplace to the projects in the tools',
    load: () => import('./guidelines.ts'),
  },
  manuals: { about: 'The manuals of your own accounts, as files in a folder', load: () => import('./manuals.ts') },
  review: { about: 'Changes of manuals that were submitted for review', load: () => import('./review.ts') },
  notifications: {
    about: 'Notifications that were sent to your channels, and a test of the channels',
    load: () => import('./notifications.ts'),
  },
  audit: { about: 'The audit log: who did what, and when', load: () => import('./audit.ts') },
  settings: { about: 'The configuration as it was loaded', load: () => import('./settings.ts') },
  doctor: { about: 'Examine everything, and say what to do', load: () => import('./doctor.ts') },
};
