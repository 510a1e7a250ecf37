import { onTestFinished } from 'vitest';
import type { Adapter, UsageNote, UsageObservation } from '../../src/adapters/adapter.ts';
import type { Context } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { createJobWorker } from '../../src/jobs/job-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { Loop } from '../../src/lib/loop.ts';
import type { CallNotes } from '../../src/marketplace/client.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import type { UsageEntry } from '../../src/marketplace/source.ts';
import { createLinkRouter } from '../../src/memberships/wall.ts';
import { knownOfInstall } from '../../src/reconcile/read/install-state-store.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { readNextScope, workJobs, workSweepJob } from '../../src/usage/read/read-scope.ts';
import { keepScopes, listWorkScopes, wantScopes } from '../../src/usage/read/scope-store.ts';
import type { ReportOptions } from '../../src/usage/report/plan-install.ts';
import { type InstallReport, reportUsage } from '../../src/usage/report/report-usage.ts';
import type { OnAnswer } from '../../src/usage/report/send-usage.ts';
import type { Alerting } from './alerting.ts';
import { createEngine, type Engine, inStudio } from './engine-harness.ts';
import { evidenceOfInstall, readInstall } from './read-whole.ts';

export type UsageWorld = Awaited<ReturnType<typeof openUsageWorld>>;

/**
 * `lost`: never arrived, or later; `unheard`: stored, and the answer was lost; `crash`: the process
 * ended before it was sent.
 */
export type Fate = 'lost' | 'unheard' | 'crash';

export interface ItemWork {
  memberId: string;
  seconds: number;
  labels: number;
  at: string;
  changedAt?: string;
}

function createWorkTool() {
  /** The tasks that were ever in a scope. */
  const tasks = new Map<string, Set<string>>();
  const tool = {
    /** All pieces of work there are, by scope and then by id. Taking one away leaves its task. */
    items: new Map<string, Map<string, ItemWork>>(),
    /** The tasks that each member has done until now. If there are any, every scope lists them as totals. */
    totals: new Map<string, number>(),
    /** What it cannot count at present. */
    gap: null as string | null,
    /** Ends the next readings after so many pieces. */
    breaksAfter: null as number | null,
    gone: new Set<string>(),
    /** What it shows as the address of an id; nothing unless it is set. */
    emails: new Map<string, string>(),
    /** Scopes that are not there. */
    goneScopes: new Set<string>(),
    /** Scopes that the account may not read. */
    refusedScopes: new Set<string>(),
    /** Whether all projects have one group. */
    isOneGroup: false,
    /** Whether it says which tasks there are. */
    tellsTasks: true,
    /** Whether a reading of everything lists all pieces of each task, however old. */
    listsWholeTasks: false,
    requests: [] as (string | null)[],
  };
  function tasksAt(scope: string): Iterable<string> {
    if (tool.goneScopes.has(scope)) throw new AppError('not_found', `There is no ${scope}`);
    if (tool.refusedScopes.has(scope)) throw new AppError('forbidden', 'You may not');
    const known = tasks.get(scope) ?? new Set();
    for (const itemId of tool.items.get(scope)?.keys() ?? []) known.add(taskOf(itemId));
    tasks.set(scope, known);
    return tool.tellsTasks ? known : [];
  }
  function* itemsAt(scope: string): Iterable<[string, ItemWork]> {
    for (const [passed, one] of [...(tool.items.get(scope) ?? [])].entries()) {
      if (tool.breaksAfter !== null && passed >= tool.breaksAfter)
        throw new AppError('unavailable', 'The export broke off');
      yield one;
    }
  }
  function* totals(): Iterable<UsageObservation | UsageNote> {
    for (const [memberId, count] of tool.totals) yield { memberId, of: 'total', tasks: count };
    if (tool.gap !== null) yield { of: 'gap', says: tool.gap };
  }
  const emailOf = (id: string) => tool.emails.get(id) ?? null;
  const adapter: Adapter = {
    capabilities: {
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'membership',
      usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
    },
    check: async () => [],
    groupFor: ({ externalProjectId }) => (tool.isOneGroup ? 'org' : externalProjectId),
    findMember: async (_group, { memberId }) =>
      memberId === null || tool.gone.has(memberId) ? null : { id: memberId, email: emailOf(memberId) },
    addMember: async (_group, { trainerId }) => ({ id: `m${trainerId}`, email: null }),
    removeMember: async () => undefined,
    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    async *readUsage(scope, { changedSince }) {
      tool.requests.push(changedSince);
      yield* totals();
      for (const taskId of tasksAt(scope)) yield { of: 'task', taskId, isWhole: tool.listsWholeTasks };
      for (const [itemId, work] of itemsAt(scope)) {
        if (changedSince === null || (work.changedAt ?? work.at) >= changedSince)
          yield { ...toObservation(itemId, work), email: emailOf(work.memberId) };
      }
    },
  };
  return Object.assign(tool, {
    adapter,
    /** Takes pieces of `signs` away, and leaves their tasks. */
    erase(...itemIds: string[]): void {
      for (const itemId of itemIds) tool.items.get('signs')?.delete(itemId);
    },
    /** Takes the tasks of these pieces of `signs` away, and the pieces with them. */
    deleteTasks(...itemIds: string[]): void {
      for (const itemId of itemIds) tasks.get('signs')?.delete(taskOf(itemId));
      for (const itemId of itemIds) tool.items.get('signs')?.delete(itemId);
    },
  });
}

function taskOf(itemId: string): string {
  return `task of ${itemId}`;
}

function toObservation(itemId: string, { memberId, seconds, labels, at, changedAt }: ItemWork) {
  const instants = { doneAt: at, changedAt: changedAt ?? at };
  return {
    memberId,
    of: 'item',
    itemId,
    taskId: taskOf(itemId),
    seconds,
    labels,
    ...instants,
  } satisfies UsageObservation;
}

/** After so long, no request without an answer arrives any more. */
const longestOnItsWayMs = 10 * 60_000;

/** A tool whose work can be read, the usage side of a bridge, and the sandbox as the marketplace. */
export async function openUsageWorld(
  database: Database,
  {
    maxLoweredFraction = 1,
    timeZone = 'UTC',
    deletedTasks = 'keep',
    hears,
  }: {
    hears?: Alerting['hears'];
    maxLoweredFraction?: number;
    timeZone?: string;
    deletedTasks?: 'keep' | 'lower';
  } = {},
  onAnswer: OnAnswer = async () => undefined,
) {
  const tool = createWorkTool();
  const installs = new Map([['acme', inStudio()]]);
  const adapters = new Map([['studio', tool.adapter]]);
  const routeLink = createLinkRouter(installs, adapters);
  const engine = createEngine(database, { routeLink, ...(hears && { hears }) });
  const { clock } = engine;
  const sandbox = createSandbox({ timeScale: 0, seed: 'usage', clock });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { installId, token } = sandbox.createInstall({ piiConsent: true });
  const { id: jobId } = sandbox.createJob({ installId });
  const pacing = { requestsPerSecond: 10_000, burst: 10_000 };
  const platform = createPlatformSource({ baseUrl, token, pacing, clock });
  const { signal } = new AbortController();
  let lost: { arrivesBy: number; send: () => Promise<unknown> }[] = [];
  const world = {
    /** What happens to the next requests that report usage, one after the other. */
    fates: [] as Fate[],
    requests: [] as { contractId: string; entries: readonly UsageEntry[] }[],
  };

  async function reportThrough(contractId: string, entries: readonly UsageEntry[], of: AbortSignal, notes?: CallNotes) {
    const fate = world.fates.shift();
    if (fate === 'crash') throw new Error('crashed');
    const send = () => platform.reportUsage(contractId, entries, of, notes);
    world.requests.push({ contractId, entries });
    const arrivesBy = clock.now().getTime() + longestOnItsWayMs;
    if (fate === 'lost') lost.push({ arrivesBy, send });
    const answer = fate === 'lost' ? null : await send();
    if (fate !== undefined || answer === null) throw new AppError('unavailable', 'No answer');
    return answer;
  }

  const ctx: Context = {
    ...engine,
    config: {
      ...engine.config,
      links: new Map([['signs', { timeZone }]]),
      usage: { schedule: '30 * * * *', lookbackMs: 14 * 86_400_000, maxLoweredFraction, deletedTasks },
    },
    adapters,
    installs,
    sources: new Map([['acme', { ...platform, reportUsage: reportThrough }]]),
  };

  /** Sends what was lost after all: everything, or what can be no later than so long from now. */
  async function arrive(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    const until = clock.now().getTime() + withinMs;
    const arriving = lost.filter(({ arrivesBy }) => arrivesBy <= until);
    lost = lost.filter((one) => !arriving.includes(one));
    for (const { send } of arriving) await send();
  }

  async function api(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return await response.json();
  }

  return {
    ...world,
    engine,
    sandbox,
    /** What usage is read and reported with. */
    ctx,
    tool,
    api,
    jobId,
    /** Another job of the install. */
    openJob: () => sandbox.createJob({ installId }).id,
    async link(project: string, ofJob = jobId): Promise<string> {
      const link = { externalProjectId: project, jobId: ofJob };
      const created = await api('POST', '/project-links', link);
      return (created as { projectLink: { id: string } }).projectLink.id;
    },
    /** Hires a trainer on the job; their id in the tool is `m` and their id. */
    hire(onJob = jobId) {
      const { contractId, trainers } = sandbox.hire({ jobId: onJob });
      const { opentrainUserId: trainerId = '', workEmail } = trainers[0] ?? {};
      return { contractId, trainerId, memberId: `m${trainerId}`, email: workEmail ?? '' };
    },
    /** Learns all there is at the marketplace, and lets in the trainers who are wanted. */
    async learn() {
      const known = await knownOfInstall(engine, 'acme');
      const read = await readInstall(platform, 'acme', known, toInstant(clock.now()), signal);
      for (const evidence of evidenceOfInstall(read, known)) await engine.merge(evidence);
      await letIn(engine);
    },
    /** The tool shows a piece of work in `signs`, by default one that was done now. */
    work(itemId: string, memberId: string, changes: Partial<ItemWork> = {}): void {
      const items = tool.items.get('signs') ?? new Map<string, ItemWork>();
      const piece = { memberId, seconds: 100, labels: 3, at: toInstant(clock.now()), ...changes };
      tool.items.set('signs', items.set(itemId, piece));
    },
    /** Reads every work scope once; completely, where that is asked for. */
    async read(isComplete = false) {
      const now = toInstant(clock.now());
      const scopes = await listWorkScopes(ctx);
      await keepScopes(ctx, scopes, now);
      await inTransaction(database, (tx) => wantScopes(tx, scopes, now));
      if (isComplete) await forgetComplete(database);
      while (await readNextScope(ctx, signal));
    },
    async report(wanted: Partial<ReportOptions> = {}): Promise<InstallReport> {
      const [report] = await reportUsage(ctx, onAnswer, { installs: ['acme'], ...wanted }, signal);
      if (report === undefined) throw new Error('nothing was reported');
      return report;
    },
    consumed(contractId: string) {
      const contract = sandbox.snapshot().contracts.find(({ id }) => id === contractId);
      const { seconds = 0, tasks = 0, labels = 0 } = contract?.budget.consumed ?? {};
      return { seconds, tasks, labels };
    },
    arrive,
    /** Time goes on, and nothing is on its way for longer than it can be. */
    async pass(ms: number) {
      await arrive(ms);
      clock.advance(ms);
    },
  };
}

/** As converging would: the trainers who are wanted are in, and the others are still to be removed. */
async function letIn({ database, membershipRows }: Engine): Promise<void> {
  for (const { id, trainerId, wanted, state } of await membershipRows()) {
    if (!wanted || state === 'active') continue;
    const inside = { state: 'active', memberId: `m${trainerId}`, isOurs: true, nextAttemptAt: null };
    await inTransaction(database, (tx) =>
      tx
        .updateTable('membership')
        .set({ ...inside, state: 'active' })
        .where('id', '=', id)
        .execute(),
    );
  }
}

async function forgetComplete(database: Database): Promise<void> {
  await inTransaction(database, (tx) => tx.updateTable('usageScope').set({ completeBeganAt: null }).execute());
}

/** Finds and reads the work in all tools. */
export function createWorkReader(ctx: Context): Loop {
  return createJobWorker(ctx, [...workJobs(ctx), workSweepJob]);
}
