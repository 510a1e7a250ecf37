import type { GuidelineState } from '../domain/guideline-state.ts';

/** The tables of guidelines. No text of a manual or of a tool is in them. */

export interface GuidelineTables {
  guideline: GuidelineTable;
  guidelineReading: GuidelineReadingTable;
}

/** The guidelines of a project, as Gangway wrote them last, and what the last look found. */
export interface GuidelineTable {
  tool: string;
  project: string;
  /** By whose job it was looked at last. */
  install: string;
  /** The manual that was written last, or is being written; null if none was. */
  manualId: string | null;
  publicationNumber: number | null;
  /** The digest of the text that was sent. */
  sentDigest: string | null;
  /** The digest of its letters and digits alone, which stay when a tool cleans a text. */
  wordsDigest: string | null;
  /** The digest of what was there before a call whose outcome is not known; null if no such call was made. */
  beforeDigest: string | null;
  /** The digest of what the tool gave back after the last call; null until that is known. */
  heldDigest: string | null;
  writtenAt: string | null;
  lookedAt: string;
  state: GuidelineState;
  /** Since when it is in this state. */
  since: string;
  /** Why, for operators; null where there is nothing to say. */
  says: string | null;
  /** How many looks in a row had no answer. */
  failures: number;
}

/** When the publications of an install are read next. */
export interface GuidelineReadingTable {
  install: string;
  nextReadAt: string;
  leasedUntil: string | null;
  /** When the last reading that was answered began. */
  readAt: string | null;
  failures: number;
  failure: string | null;
}
