import type { Context } from '../../context.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { GuidelineState } from '../../domain/guideline-state.ts';
import { lookAtProject, type ProjectLook } from '../../guidelines/look-at-project.ts';
import { readTargets, takesGuidelines } from '../../guidelines/read-targets.ts';
import { maskText } from '../../lib/mask.ts';

/** What is published for a project and what its tool shows, both as they are now. */
export interface ComparedGuideline {
  install: string;
  tool: string;
  project: string;
  /** Null if several manuals claim the project. */
  manualId: string | null;
  publicationNumber: number | null;
  verdict: ProjectLook['verdict'];
  says: string | null;
  /** What the conversion left out. */
  notes: string[];
  /** As the tool takes it. */
  wanted: string | null;
  found: string | null;
  /** What Gangway wrote last; null if nothing. */
  written: {
    manualId: string;
    publicationNumber: number | null;
    /** Null while it is not known whether the tool has it. */
    at: string | null;
    state: GuidelineState;
  } | null;
}

export interface ComparedGuidelines {
  guidelines: ComparedGuideline[];
  /** Installs whose manuals could not be read, and why. */
  unread: UnreadInstall[];
}

export interface UnreadInstall {
  install: string;
  failure: string;
}

/** Compares what is published with what the tools show. It changes nothing. */
export async function compareGuidelines(
  ctx: Context,
  installs: readonly string[],
  project: string | undefined,
  signal: AbortSignal,
): Promise<ComparedGuidelines> {
  const guidelines = new Map<string, ComparedGuideline>();
  const unread = await forEachInstall(installs, signal, async (install) => {
    for (const target of await readTargets(ctx, install, project, signal)) {
      const key = JSON.stringify([target.tool, target.project]);
      if (guidelines.has(key)) continue;
      guidelines.set(key, toCompared(await lookAtProject(ctx, target, false, signal)));
    }
  });
  refuseUnknownProject(project, guidelines.size + unread.length);
  return { guidelines: [...guidelines.values()], unread };
}

/** Those that may have guidelines: accounts of one's own, in front of a tool that shows them. */
export function installsWithGuidelines(ctx: Context): string[] {
  return [...ctx.installs.keys()].filter((install) => takesGuidelines(ctx, install));
}

/** One install that cannot be read does not hide the others. @returns those, and why */
export async function forEachInstall(
  installs: readonly string[],
  signal: AbortSignal,
  work: (install: string) => Promise<void>,
): Promise<UnreadInstall[]> {
  const unread: UnreadInstall[] = [];
  for (const install of installs) {
    try {
      await work(install);
    } catch (error) {
      signal.throwIfAborted();
      unread.push({ install, failure: maskText(toAppError(error).message) });
    }
  }
  return unread;
}

/** @throws AppError `not_found` if a project is named and nothing was found for it */
export function refuseUnknownProject(project: string | undefined, found: number): void {
  if (project === undefined || found > 0) return;
  throw new AppError(
    'not_found',
    `Nothing is published for a job of the project ${project}, as far as links are known`,
  );
}

function toCompared({ target, known, publication, ...look }: ProjectLook): ComparedGuideline {
  const { install, tool, project } = target;
  const { manualId = null, publicationNumber = null } = publication ?? {};
  const { verdict, says, notes, wanted, found } = look;
  return {
    install,
    tool,
    project,
    manualId,
    publicationNumber,
    verdict,
    says,
    notes,
    wanted,
    found,
    written: toWritten(known),
  };
}

function toWritten(known: ProjectLook['known']): ComparedGuideline['written'] {
  if (known === undefined || known.manualId === null) return null;
  const { manualId, publicationNumber, heldDigest, writtenAt, state } = known;
  return { manualId, publicationNumber, at: heldDigest === null ? null : writtenAt, state };
}
