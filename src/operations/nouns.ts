import type { Operation } from './operation.ts';

/** The nouns of the command line. What one does is loaded when it is named. */
export interface Noun {
  about: string;
  load(): Promise<readonly Operation[]>;
}

export const nouns: Readonly<Record<string, Noun>> = {
  status: {
    about: 'Show how Gangway is doing, what happened lately, and what needs you',
    load: async () => (await import('./status.ts')).status,
  },
  members: {
    about: 'Who belongs to which group of a tool, and who of them Gangway may remove',
    load: async () => (await import('./members.ts')).members,
  },
  access: {
    about: 'Who has or had access to which project, and why',
    load: async () => (await import('./access.ts')).access,
  },
  explain: {
    about: 'Explain why a trainer has access or not, from contract to login',
    load: async () => (await import('./explain.ts')).explain,
  },
  drift: {
    about: 'What differs between the tools and the memberships that Gangway knows',
    load: async () => (await import('./drift.ts')).drift,
  },
  retire: {
    about: 'Remove people whose install, tool or group is no longer configured',
    load: async () => (await import('./retire.ts')).retire,
  },
  forget: {
    about: 'Delete the personal data of one person',
    load: async () => (await import('./forget.ts')).forget,
  },
  plans: {
    about: 'Removals that the brake holds, for you to decide about',
    load: async () => (await import('./plans.ts')).plans,
  },
  links: {
    about: 'Projects that are linked at the marketplace, and where they lead',
    load: async () => (await import('./links.ts')).links,
  },
  deliveries: {
    about: 'What the marketplace sent, and what became of it',
    load: async () => (await import('./deliveries.ts')).deliveries,
  },
  usage: {
    about: 'The work done in the tools, and what is reported of it to the marketplace',
    load: async () => (await import('./usage.ts')).usage,
  },
  contracts: {
    about: 'Contracts, and your decision about one',
    load: async () => (await import('./contracts.ts')).contracts,
  },
  budgets: {
    about: 'What contracts were funded with, and how much is used',
    load: async () => (await import('./budgets.ts')).budgets,
  },
  reconcile: {
    about: 'Read the marketplace now, and bring the tools in sync',
    load: async () => (await import('./reconcile.ts')).reconcile,
  },
  runs: {
    about: 'Readings of the marketplace, and what followed from them',
    load: async () => (await import('./runs.ts')).runs,
  },
  installs: {
    about: 'The customers that are connected',
    load: async () => (await import('./installs.ts')).installs,
  },
  endpoint: {
    about: 'The webhook endpoints at the marketplace',
    load: async () => (await import('./endpoint.ts')).endpoint,
  },
  token: {
    about: 'The tokens of your own accounts at the marketplace',
    load: async () => (await import('./token.ts')).token,
  },
  tools: {
    about: 'The configured tools, and the servers that their people are in',
    load: async () => (await import('./tools.ts')).tools,
  },
  guidelines: {
    about: 'Guidelines for trainers, from the manuals of the marketplace to the projects in the tools',
    load: async () => (await import('./guidelines.ts')).guidelines,
  },
  notifications: {
    about: 'Notifications that were sent to your channels, and a test of the channels',
    load: async () => (await import('./notifications.ts')).notifications,
  },
  audit: {
    about: 'The audit log: who did what, and when',
    load: async () => (await import('./audit.ts')).audit,
  },
  settings: {
    about: 'The configuration as it was loaded',
    load: async () => (await import('./settings.ts')).settings,
  },
};
