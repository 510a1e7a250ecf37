import type { Operation } from './operation.ts';

/** The nouns of the command line. What one does is loaded when it is named. */
export interface Noun {
  about: string;
  load(): Promise<readonly Operation[]>;
}

export const nouns: Readonly<Record<string, Noun>> = {
  links: {
    about: 'Projects that are linked at the marketplace, and where they lead',
    load: async () => (await import('./links.ts')).links,
  },
  deliveries: {
    about: 'What the marketplace sent, and what became of it',
    load: async () => (await import('./deliveries.ts')).deliveries,
  },
};
