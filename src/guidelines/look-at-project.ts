import type { Context } from '../context.ts';
import { type AppError, isTransient, toAppError } from '../domain/errors.ts';
import type { GuidelineState } from '../domain/guideline-state.ts';
import { maskText } from '../lib/mask.ts';
import { callTool } from '../tools/call-tool.ts';
import { decideClaim, decideGuideline, type PublicationName, type Verdict } from './decide-guideline.ts';
import { findGuideline, type GuidelineRow } from './guideline-store.ts';
import type { Target } from './read-targets.ts';
import { toText } from './to-text.ts';

/** What is published for a project, what its tool shows, and what is to be done. */
export interface ProjectLook {
  target: Target;
  known: GuidelineRow | undefined;
  /** Null if several manuals claim the project. */
  publication: PublicationName | null;
  /** The text of the publication, as the tool takes it; null if it is not known. */
  wanted: string | null;
  /** What the conversion left out, each in a sentence. */
  notes: string[];
  /** What the tool shows; null if that was not asked, or not answered. */
  found: string | null;
  verdict: Verdict | Unseen;
  /** Why it is not written. */
  says: string | null;
  retryAfterMs: number | undefined;
}

/** The tool was not asked, or did not answer. */
type Unseen = Extract<GuidelineState, 'disputed' | 'refused' | 'failing'>;

/** How long one call to a tool may take. */
export function timeoutOf({ config }: Context, tool: string): number {
  return config.tools.get(tool)?.timeoutMs ?? 15_000;
}

/** Looks at one project. It changes nothing, and throws only where it is given up. */
export async function lookAtProject(
  ctx: Context,
  target: Target,
  overwrites: boolean,
  signal: AbortSignal,
): Promise<ProjectLook> {
  const { tool, project, claims, unread } = target;
  const known = await findGuideline(ctx, target);
  const look = { target, known, publication: null, wanted: null, notes: [], found: null, retryAfterMs: undefined };
  const claim = decideClaim(claims);
  if (claim === null) return { ...look, verdict: 'disputed', says: sayDispute(claims) };
  const { manualId, publicationNumber } = claim;
  const claimed = { ...look, publication: { manualId, publicationNumber } };
  if (unread !== null) return { ...claimed, verdict: 'failing', says: `Another install leads here too: ${unread}` };
  const adapter = ctx.adapters.get(tool);
  try {
    const { text: wanted, notes } = toText(claim, adapter?.capabilities.guidelines ?? 'markdown');
    const read = async (until: AbortSignal) => (await adapter?.readGuidelines?.(project, until)) ?? '';
    const found = await callTool(timeoutOf(ctx, tool), signal, read);
    const verdict = decideGuideline({ known, publication: claim, wanted, found, overwrites });
    return { ...claimed, wanted, notes, found, verdict, says: sayings[verdict] ?? null };
  } catch (thrown) {
    signal.throwIfAborted();
    return { ...claimed, ...toUnseen(toAppError(thrown)) };
  }
}

export function toUnseen(error: AppError): Pick<ProjectLook, 'says' | 'retryAfterMs'> & { verdict: Unseen } {
  const verdict = isTransient(error) ? 'failing' : 'refused';
  return { verdict, says: maskText(error.message), retryAfterMs: error.retryAfterMs };
}

/** Why nothing is written, of what the tool shows. */
export const sayings: Readonly<Partial<Record<Verdict, string>>> = {
  edited: 'The text in the tool is not what Gangway wrote last: it was edited there',
  foreign: 'The tool has a text that Gangway did not write',
  cut: 'The tool shows other words than were written: it may take no such text',
  older: 'A newer publication was written before',
};

function sayDispute(claims: readonly PublicationName[]): string {
  const manuals = [...new Set(claims.map(({ manualId }) => manualId))].sort();
  return `Several manuals claim the project: ${manuals.join(', ')}`;
}
