/** The instruction manuals of an account (spec: part B section 2.1). Plain records. */

export const audiences = ['ADMIN', 'CONTRIBUTOR', 'REVIEWER', 'WORKER'] as const;
export type Audience = (typeof audiences)[number];

export const bindingKinds = ['JOB', 'FOLDER', 'WORK_PROJECT'] as const;

/** Among manuals that are bound alike, the lower precedence wins. */
export interface Binding {
  kind: (typeof bindingKinds)[number];
  targetId: string;
  precedence: number;
}

export interface ManualPage {
  id: string;
  /** Null for a page that is below no other. */
  parentId: string | null;
  /** Among the pages with the same parent, from 0. */
  position: number;
  audience: Audience;
  /** Oldest first; the last is the draft. Revision 1 is the first. */
  revisions: PageRevision[];
}

export interface PageRevision {
  title: string;
  /** The canonical JSON. */
  content: unknown;
}

/** It never changes. */
export interface Publication {
  publicationNumber: number;
  revisionNumber: number;
  audiences: Audience[];
  note: string | null;
  createdAt: string;
  /** Which revision of which page it has. */
  pages: { page: ManualPage; revision: number }[];
}

export interface Manual {
  id: string;
  title: string;
  audience: Audience;
  bindings: Binding[];
  /** Rises with each change of a page. */
  headRevision: number;
  pages: ManualPage[];
  publications: Publication[];
}
