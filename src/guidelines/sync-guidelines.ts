import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { takeLock } from '../db/lock.ts';
import type { Row } from '../db/schema.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { GuidelineState } from '../domain/guideline-state.ts';
import type { JobKind } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import { callTool } from '../tools/call-tool.ts';
import { digestOf, digestOfWords, judgeWritten, type PublicationName } from './decide-guideline.ts';
import {
  findGuideline,
  type LookedAt,
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

/** No project is begun after this time. */
const passMs = 5 * 60_000;
const by = { actor: 'gangway', origin: 'schedule' };

/**
 * Reads what is published for the jobs of the installs that want it (`installs.<name>.guidelines`), and brings it into
 * their tools. It writes nothing over what people have written there, and removes nothing.
 */
export const guidelineJob: JobKind = {
  name: 'guidelines',
  atOnce: 4,
  // What is left after it is read at the next pass.
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
    const { projects } = await syncInstall(ctx, { install, overwrites: false, by }, signal, hasTime);
    // A tool that asked to be left alone is.
    return Math.max(ctx.config.guidelines.everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
  },
};

interface SyncWish {
  /** Whether a text that Gangway did not write is replaced too. */
  overwrites: boolean;
  by: Omit<By, 'at'>;
}

/** What a look finds in a project that is claimed. */
type SeenState = Exclude<GuidelineState, 'unclaimed'>;

/** What became of a project. `busy`: another process is at it, or its last call may still arrive. */
interface SyncedProject {
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
async function syncProject(ctx: Context, target: Target, wish: SyncWish, signal: AbortSignal): Promise<SyncedProject> {
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
