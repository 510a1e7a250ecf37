/** An instruction manual, as it was published for trainers. It never changes. */
export interface Publication {
  manualId: string;
  publicationNumber: number;
  /** In the order in which they are read: each before the pages below it. */
  pages: PublishedPage[];
}

export interface PublishedPage {
  title: string;
  /** 1 for a page that is below no other. */
  depth: number;
  /** The canonical JSON, not validated. */
  content: unknown;
}
