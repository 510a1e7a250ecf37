import type { Context } from '../context.ts';
import { toInstant } from '../lib/clock.ts';
import { findGuideline, noteClaimedProjects } from './guideline-store.ts';
import { readTargets, type Target } from './read-targets.ts';
import { type SyncedProject, type SyncWish, syncProject } from './sync-project.ts';

export interface SyncInstallWish extends SyncWish {
  install: string;
  /** One project; all by default. */
  project?: string | undefined;
}

export interface SyncedInstall {
  projects: SyncedProject[];
  /** How many were left, because the tool does not answer or the time was up. They are looked at first next time. */
  left: number;
}

/**
 * Brings the guidelines of an install's projects in line with what is published for its jobs. What is not published
 * (any more) changes nothing.
 *
 * @param hasTime asked before each project
 * @throws AppError if the publications cannot be read; then no project was looked at
 */
export async function syncInstall(
  ctx: Context,
  wish: SyncInstallWish,
  signal: AbortSignal,
  hasTime: () => boolean = () => true,
): Promise<SyncedInstall> {
  const { install, project: only } = wish;
  const targets = await inOrder(ctx, await readTargets(ctx, install, only, signal));
  const claimed = targets.map(({ project }) => project);
  if (only === undefined) await noteClaimedProjects(ctx, install, claimed, toInstant(ctx.clock.now()));
  const projects: SyncedProject[] = [];
  for (const target of targets) {
    signal.throwIfAborted();
    if (!hasTime()) break;
    const synced = await syncProject(ctx, target, wish, signal);
    projects.push(synced);
    const { tool, result, publication } = synced;
    if (result === 'written') {
      ctx.logger.info({ tool, project: synced.project, ...publication }, 'Guidelines were written');
    }
    if (synced.result === 'failing' && target.unread === null) break;
  }
  return { projects, left: targets.length - projects.length };
}

/** Those that were not looked at for the longest time first, so that one that never answers holds up no other for good. */
async function inOrder(ctx: Context, targets: readonly Target[]): Promise<Target[]> {
  const lookedAt = new Map<Target, string>();
  for (const target of targets) lookedAt.set(target, (await findGuideline(ctx, target))?.lookedAt ?? '');
  return [...targets].sort((one, other) => ((lookedAt.get(one) ?? '') < (lookedAt.get(other) ?? '') ? -1 : 1));
}
