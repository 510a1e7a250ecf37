/** How far an alert about one subject has come. */
export interface AlertProgress {
  /** Whether it was announced since it was raised. */
  isAnnounced: boolean;
  /** When it was last announced, also before it was last over. */
  announcedAt: string | null;
}

export interface AnnouncementRules {
  now: Date;
  /** How long the same alert is not announced anew after it was over: it may come and go. */
  quietMs: number;
  /** After what time an alert that still stands is announced again, as a reminder. */
  repeatMs: number;
}

/** Pure: what to announce of an alert that stands. */
export function decideAnnouncement(
  { isAnnounced, announcedAt }: AlertProgress,
  { now, quietMs, repeatMs }: AnnouncementRules,
): 'raised' | 'reminder' | null {
  const since = announcedAt === null ? Number.POSITIVE_INFINITY : now.getTime() - Date.parse(announcedAt);
  if (isAnnounced) return since >= repeatMs ? 'reminder' : null;
  return since >= quietMs ? 'raised' : null;
}
