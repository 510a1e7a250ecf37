import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { takeLock } from '../db/lock.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { GuidelineState } from '../domain/guideline-state.ts';
import type { JobKind } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import { callTool } from '../tools/call-tool.ts';
import { digestOf, digestOfWords, judgeWritten, type PublicationName } from './decide-guideline.ts';
import {
  type CheckedGuideline,
  findGuideline,
  type GuidelineRow,
  noteClaimedProjects,
  noteGuideline,
  noteGuidelineIn,
} from './guideline-store.ts';
import {
  lookAtProject,
  type ProjectLook,
  readTargets,
  sayings,
  type Target,
  timeoutOf,
  toUnseen,
} from './look-at-project.ts';

/** After this time, no further project is begun. */
const passMs = 5 * 60_000;
const schedule = { actor: 'gangway', origin: 'schedule' };

/**
 * Brings what is published for the jobs of installs with `installs.<name>.guidelines` into their tools. Never overwrites
 * what people have written there, and never removes anything.
 */
export const guidelineJob: JobKind = {
  name: 'guidelines',
  atOnce: 4,
  leaseMs: 2 * passMs,
  isStanding: true,
  installs: ({ installs }) => [...installs].flatMap(([install, { guidelines }]) => (guidelines ? [install] : [])),
  restMs: ({ config }) => config.guidelines.everyMs,
  async run(ctx, { install }, signal, { beat }) {
    const endsAt = ctx.clock.now().getTime() + passMs;
    const hasTime = () => {
      beat();
      return ctx.clock.now().getTime() < endsAt;
    };
    const { projects } = await syncInstall(ctx, { install, overwrites: false, by: schedule }, signal, hasTime);
    // A tool may ask to be left alone for longer.
    return Math.max(ctx.config.guidelines.everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
  },
};

interface SyncRequest {
  install: string;
  /** Only this project; all by default. */
  project?: string | undefined;
  /** Whether texts that Gangway did not write are replaced too. */
  overwrites: boolean;
  by: Omit<By, 'at'>;
}

export interface SyncedInstall {
  projects: SyncedProject[];
  /** The number of projects that are left for the next time, because the tool does not answer or the time was up. */
  left: number;
}

/**
 * Brings the guidelines of an install's projects in line with what is published for its jobs. If nothing is published any
 * more, the guidelines stay.
 *
 * @param hasTime asked before each project
 * @throws AppError if the publications cannot be read, before any project is looked at
 */
export async function syncInstall(
  ctx: Context,
  request: SyncRequest,
  signal: AbortSignal,
  hasTime: () => boolean = () => true,
): Promise<SyncedInstall> {
  const { install, project: only } = request;
  const targets = await inOrder(ctx, await readTargets(ctx, install, only, signal));
  const claimed = targets.map(({ project }) => project);
  if (only === undefined) await noteClaimedProjects(ctx, install, claimed, toInstant(ctx.clock.now()));
  const projects: SyncedProject[] = [];
  for (const target of targets) {
    signal.throwIfAborted();
    if (!hasTime()) break;
    const synced = await syncProject(ctx, target, request, signal);
    projects.push(synced);
    const { tool, project, result, publication } = synced;
    if (result === 'written') ctx.logger.info({ tool, project, ...publication }, 'Guidelines were written');
    if (result === 'failing' && target.unread === null) break;
  }
  return { projects, left: targets.length - projects.length };
}

/** The longest unchecked project first, so that one that never answers does not hold up the others for ever. */
async function inOrder(ctx: Context, targets: readonly Target[]): Promise<Target[]> {
  const lookedAt = new Map<Target, string>();
  for (const target of targets) lookedAt.set(target, (await findGuideline(ctx, target))?.lookedAt ?? '');
  return [...targets].sort((one, other) => ((lookedAt.get(one) ?? '') < (lookedAt.get(other) ?? '') ? -1 : 1));
}

/** The state of a claimed project. */
type SeenState = Exclude<GuidelineState, 'unclaimed'>;

/** `busy`: another process is syncing the project, or its last call may still arrive. */
interface SyncedProject {
  tool: string;
  project: string;
  publication: PublicationName | null;
  result: SeenState | 'written' | 'busy';
  says: string | null;
  notes: string[];
  retryAfterMs: number | undefined;
}

/** A read, a write, a read again, and some time between them. */
const callsInLease = 4;

/** One process at a time syncs a project. */
async function syncProject(
  ctx: Context,
  target: Target,
  { overwrites, by }: SyncRequest,
  signal: AbortSignal,
): Promise<SyncedProject> {
  const { tool, project } = target;
  const name = `guidelines ${JSON.stringify([tool, project])}`;
  const lock = await takeLock(ctx, { name, what: `Project ${project}`, leaseMs: callsInLease * timeoutOf(ctx, tool) });
  if (lock === null) return toSynced({ target, publication: null, notes: [] }, 'busy', busy);
  let isInDoubt = false;
  try {
    const look = await lookAtProject(ctx, target, overwrites, signal);
    if (look.verdict !== 'write') return await settleLook(ctx, look);
    if (!(await lock.keeps())) return toSynced(look, 'busy', busy);
    isInDoubt = true;
    const synced = await write(ctx, look, by, signal);
    isInDoubt = synced.result === 'failing';
    return synced;
  } finally {
    // A call whose answer was lost may still arrive, but only within the lease.
    if (!isInDoubt) await lock.release();
  }
}

const busy = 'Another process is syncing it, or a call to the tool may still arrive: try again in a minute';

async function settleLook(ctx: Context, look: ProjectLook): Promise<SyncedProject> {
  const { verdict, found, wanted, publication, says } = look;
  if (verdict === 'landed' && found !== null && wanted !== null && publication !== null) {
    await noteGuideline(ctx, toCheckedGuideline(ctx, look, 'shown', null), {
      ...toSent(publication, wanted),
      beforeDigest: null,
      heldDigest: digestOf(found),
      writtenAt: toInstant(ctx.clock.now()),
    });
    return toSynced(look, 'shown', null);
  }
  const state = stateOf(verdict);
  await noteGuideline(ctx, toCheckedGuideline(ctx, look, state, says));
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
 * Commits the intent, writes the text, and reads it back, so that after a crash at any point Gangway knows whether the
 * text in the tool is its own.
 */
async function write(
  ctx: Context,
  look: ProjectLook,
  by: SyncRequest['by'],
  signal: AbortSignal,
): Promise<SyncedProject> {
  const { clock } = ctx;
  const { wanted, found, publication } = look;
  const isReady = wanted !== null && found !== null && publication !== null;
  if (!isReady) throw new AppError('internal', 'There is no text to write');
  const intent = { ...toSent(publication, wanted), beforeDigest: digestOf(found), heldDigest: null };
  await commitIntent(ctx, look, intent, by);
  const known = await findGuideline(ctx, look.target);
  const written = { ...look, known };
  try {
    const after = await replace(ctx, look.target, wanted, signal);
    const outcome = judgeWritten(found, wanted, after);
    if (outcome === 'untouched') throw new AppError('conflict', 'The tool accepted the text but does not show it');
    const isCut = outcome === 'cut';
    const says = isCut ? (sayings.cut ?? null) : null;
    const settled = { beforeDigest: null, heldDigest: digestOf(after), writtenAt: toInstant(clock.now()) };
    await noteGuideline(ctx, toCheckedGuideline(ctx, written, isCut ? 'refused' : 'shown', says), settled);
    return toSynced(look, isCut ? 'refused' : 'written', says);
  } catch (thrown) {
    signal.throwIfAborted();
    const failed = toUnseen(toAppError(thrown));
    await noteGuideline(ctx, toCheckedGuideline(ctx, written, failed.verdict, failed.says));
    return { ...toSynced(look, failed.verdict, failed.says), retryAfterMs: failed.retryAfterMs };
  }
}

async function commitIntent(
  ctx: Context,
  look: ProjectLook,
  intent: Partial<GuidelineRow>,
  by: SyncRequest['by'],
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

function toCheckedGuideline(
  { clock }: Context,
  { target: { tool, project, install }, known }: ProjectLook,
  state: GuidelineState,
  says: string | null,
): CheckedGuideline {
  const lookedAt = toInstant(clock.now());
  const since = known?.state === state ? known.since : lookedAt;
  const failures = state === 'failing' ? (known?.failures ?? 0) + 1 : 0;
  return { tool, project, install, lookedAt, state, since, says, failures };
}

function toSynced(
  look: Pick<ProjectLook, 'target' | 'publication' | 'notes'> & Partial<ProjectLook>,
  result: SyncedProject['result'],
  says: string | null,
): SyncedProject {
  const { tool, project } = look.target;
  return {
    tool,
    project,
    publication: look.publication,
    result,
    says,
    notes: look.notes,
    retryAfterMs: look.retryAfterMs,
  };
}

function describe(of: Pick<GuidelineRow, keyof PublicationName> | null | undefined): string | null {
  return of?.manualId == null ? null : `publication ${of.publicationNumber} of the manual ${of.manualId}`;
}
