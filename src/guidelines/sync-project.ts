import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { takeLock } from '../db/lock.ts';
import type { Row } from '../db/schema.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { GuidelineState } from '../domain/guideline-state.ts';
import { toInstant } from '../lib/clock.ts';
import { callTool } from '../tools/call-tool.ts';
import { judgeWritten, type PublicationName } from './decide-guideline.ts';
import { digestOf, digestOfWords } from './digests.ts';
import { findGuideline, type LookedAt, noteGuideline, noteGuidelineIn } from './guideline-store.ts';
import { lookAtProject, type ProjectLook, sayings, timeoutOf, toUnseen } from './look-at-project.ts';
import type { Target } from './read-targets.ts';

export interface SyncWish {
  /** Whether a text that Gangway did not write is replaced too. */
  overwrites: boolean;
  by: Omit<By, 'at'>;
}

/** What a look finds in a project that is claimed. */
type SeenState = Exclude<GuidelineState, 'unclaimed'>;

/** What became of a project. `busy`: another process is at it, or its last call may still arrive. */
export interface SyncedProject {
  tool: string;
  project: string;
  publication: PublicationName | null;
  result: SeenState | 'written' | 'busy';
  says: string | null;
  notes: string[];
  retryAfterMs: number | undefined;
}

/** A look, a write and a look again, and some time between them. */
const callsInLease = 4;

/** Brings the guidelines of one project in line. One process at a time does so. */
export async function syncProject(
  ctx: Context,
  target: Target,
  wish: SyncWish,
  signal: AbortSignal,
): Promise<SyncedProject> {
  const { tool, project } = target;
  const name = `guidelines ${JSON.stringify([tool, project])}`;
  const lock = await takeLock(ctx, { name, what: `Project ${project}`, leaseMs: callsInLease * timeoutOf(ctx, tool) });
  if (lock === null) return toSynced({ target, publication: null, notes: [] }, 'busy', busy);
  let isInDoubt = false;
  try {
    const look = await lookAtProject(ctx, target, wish.overwrites, signal);
    if (look.verdict !== 'write') return await settleLook(ctx, look);
    if (!(await lock.keeps())) return toSynced(look, 'busy', busy);
    isInDoubt = true;
    const synced = await write(ctx, look, wish.by, signal);
    isInDoubt = synced.result === 'failing';
    return synced;
  } finally {
    // A call whose answer was lost may still arrive. It does so within the lease.
    if (!isInDoubt) await lock.release();
  }
}

const busy = 'Another process is writing it, or a call to the tool may still be under way: try again in a minute';

/** Stores what the look has found. */
async function settleLook(ctx: Context, look: ProjectLook): Promise<SyncedProject> {
  const { verdict, found, wanted, publication, says } = look;
  if (verdict === 'landed' && found !== null && wanted !== null && publication !== null) {
    await noteGuideline(ctx, toLookedAt(ctx, look, 'shown', null), {
      ...toSent(publication, wanted),
      beforeDigest: null,
      heldDigest: digestOf(found),
      writtenAt: toInstant(ctx.clock.now()),
    });
    return toSynced(look, 'shown', null);
  }
  const state = stateOf(verdict);
  await noteGuideline(ctx, toLookedAt(ctx, look, state, says));
  return toSynced(look, state, says);
}

function stateOf(verdict: ProjectLook['verdict']): SeenState {
  switch (verdict) {
    case 'cut':
      return 'refused';
    case 'landed':
    case 'older':
    case 'write':
      return 'shown';
    default:
      return verdict;
  }
}

/**
 * Commits what is to be written, writes it, and reads it back. So after a crash at any point it is known whose the text
 * in the tool is.
 */
async function write(ctx: Context, look: ProjectLook, by: SyncWish['by'], signal: AbortSignal): Promise<SyncedProject> {
  const { clock } = ctx;
  const { wanted, found, publication } = look;
  const isReady = wanted !== null && found !== null && publication !== null;
  if (!isReady) throw new AppError('internal', 'Nothing is to be written');
  const intent = { ...toSent(publication, wanted), beforeDigest: digestOf(found), heldDigest: null };
  await commitIntent(ctx, look, intent, by);
  const known = await findGuideline(ctx, look.target);
  const written = { ...look, known };
  try {
    const after = await replace(ctx, look.target, wanted, signal);
    const outcome = judgeWritten(found, wanted, after);
    if (outcome === 'untouched') throw new AppError('conflict', 'The tool took the text, and does not show it');
    const isCut = outcome === 'cut';
    const says = isCut ? (sayings.cut ?? null) : null;
    const settled = { beforeDigest: null, heldDigest: digestOf(after), writtenAt: toInstant(clock.now()) };
    await noteGuideline(ctx, toLookedAt(ctx, written, isCut ? 'refused' : 'shown', says), settled);
    return toSynced(look, isCut ? 'refused' : 'written', says);
  } catch (thrown) {
    signal.throwIfAborted();
    const failed = toUnseen(toAppError(thrown));
    await noteGuideline(ctx, toLookedAt(ctx, written, failed.verdict, failed.says));
    return { ...toSynced(look, failed.verdict, failed.says), retryAfterMs: failed.retryAfterMs };
  }
}

async function commitIntent(
  ctx: Context,
  look: ProjectLook,
  intent: Partial<Row<'guideline'>>,
  by: SyncWish['by'],
): Promise<void> {
  const { target, known, publication } = look;
  const at = toInstant(ctx.clock.now());
  const { state = 'failing', since = at, says = null, failures = 0 } = known ?? {};
  const { tool, project, install } = target;
  const change = { before: describe(known), after: describe(publication) };
  await inTransaction(
    ctx.database,
    async (tx) => {
      const found = { tool, project, install, lookedAt: at, state, since, says, failures };
      await noteGuidelineIn(tx, found, intent);
      await writeAudit(tx, { ...by, at }, 'guidelines sync', `${tool}/${project}`, change);
    },
    { isDurable: true },
  );
}

async function replace(ctx: Context, { tool, project }: Target, text: string, signal: AbortSignal): Promise<string> {
  const { readGuidelines, writeGuidelines } = ctx.adapters.get(tool) as Adapter;
  await callTool(timeoutOf(ctx, tool), signal, async (until) => await writeGuidelines?.(project, text, until));
  return (await callTool(timeoutOf(ctx, tool), signal, async (until) => await readGuidelines?.(project, until))) ?? '';
}

function toSent({ manualId, publicationNumber }: PublicationName, text: string) {
  return { manualId, publicationNumber, sentDigest: digestOf(text), wordsDigest: digestOfWords(text) };
}

function toLookedAt(
  { clock }: Context,
  { target: { tool, project, install }, known }: ProjectLook,
  state: GuidelineState,
  says: string | null,
): LookedAt {
  const lookedAt = toInstant(clock.now());
  const since = known?.state === state ? known.since : lookedAt;
  const failures = state === 'failing' ? (known?.failures ?? 0) + 1 : 0;
  return { tool, project, install, lookedAt, state, since, says, failures };
}

function toSynced(
  {
    target: { tool, project },
    publication,
    notes,
    retryAfterMs,
  }: Pick<ProjectLook, 'target' | 'publication' | 'notes'> & Partial<ProjectLook>,
  result: SyncedProject['result'],
  says: string | null,
): SyncedProject {
  return { tool, project, publication, result, says, notes, retryAfterMs };
}

function describe(
  named: { manualId: string | null; publicationNumber: number | null } | null | undefined,
): string | null {
  const { manualId = null, publicationNumber = null } = named ?? {};
  return manualId === null ? null : `publication ${publicationNumber} of the manual ${manualId}`;
}
