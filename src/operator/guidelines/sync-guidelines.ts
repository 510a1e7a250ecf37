import type { Context } from '../../context.ts';
import { type SyncedInstall, syncInstall } from '../../guidelines/sync-install.ts';
import type { SyncWish } from '../../guidelines/sync-project.ts';
import { forEachInstall, refuseUnknownProject, type UnreadInstall } from './compare-guidelines.ts';

export interface SyncedGuidelines {
  guidelines: ({ install: string } & Omit<SyncedInstall['projects'][number], 'retryAfterMs'>)[];
  unread: UnreadInstall[];
  /** How many projects were not looked at, because their tool does not answer. */
  left: number;
}

/** Brings the guidelines of these installs in line now, for an operator. */
export async function syncGuidelines(
  ctx: Context,
  installs: readonly string[],
  { project, ...wish }: SyncWish & { project: string | undefined },
  signal: AbortSignal,
): Promise<SyncedGuidelines> {
  const synced: SyncedGuidelines = { guidelines: [], unread: [], left: 0 };
  synced.unread = await forEachInstall(installs, signal, async (install) => {
    const { projects, left } = await syncInstall(ctx, { ...wish, install, project }, signal);
    synced.guidelines.push(...projects.map(({ retryAfterMs: _, ...one }) => ({ install, ...one })));
    synced.left += left;
  });
  refuseUnknownProject(project, synced.guidelines.length + synced.unread.length);
  return synced;
}
