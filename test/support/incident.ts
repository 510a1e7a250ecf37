import { type Database, inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { emptyEvidence } from '../../src/domain/evidence.ts';
import type { Install } from '../../src/domain/install.ts';
import { listDueTurns } from '../../src/jobs/job-store.ts';
import { runNextJob } from '../../src/jobs/job-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { isTold } from '../../src/lib/troubles.ts';
import type { Source, SourceReader } from '../../src/marketplace/source.ts';
import { hasPostponed } from '../../src/memberships/derivation-store.ts';
import { checkDrift } from '../../src/reconcile/drift/check-drift.ts';
import { wantRead } from '../../src/reconcile/read/install-state-store.ts';
import { activeListJob } from '../../src/reconcile/runs/active-list-job.ts';
import { reconcileJob } from '../../src/reconcile/runs/reconcile-install.ts';
import { listPlans } from '../../src/removals/plan-store.ts';
import { tellNow } from './alerting.ts';
import { type Converging, convergeDue, withStudio } from './converging.ts';
import { createEngine, type Engine, inStudio } from './engine-harness.ts';
import { type EventWish, fullEvent } from './event-bodies.ts';
import { createMemoryTool, type MemoryTool } from './memory-tool.ts';

/** Incidents by name: events and reads of a marketplace that the test makes up, and one tool. */
export interface Incident {
  engine: Engine;
  tool: MemoryTool;
  /** An event that happens now and comes in now, and what follows from it in the tool. */
  event(type: string, wish?: Wish, install?: string): Promise<void>;
  /** The same, without doing anything in the tool. */
  take(type: string, wish?: Wish, install?: string): Promise<void>;
  /** Many of a kind at once. */
  takeAll(type: string, wishes: Wish[], install?: string): Promise<void>;
  /** Has an install read whole, by the real worker, and what follows from it in the tool. */
  read(listing: Listing, install?: string): Promise<void>;
  readFrom(api: SourceReader, install?: string): Promise<void>;
  /**
   * Has the marketplace answer so from now on, and be asked before an end; without a listing it does
   * not answer. Who never says so has none that could be asked.
   */
  answers(listing?: Listing, install?: string): void;
  /** How often active contracts were listed before an end. */
  lists(): number;
  /** Compares the groups of an install with the memberships, and changes nothing in the tool. */
  checkDrift(install?: string): Promise<void>;
  /** Does what is due in the tool, within the brake. */
  settle(): Promise<void>;
  /** Moves the time forward, and does what is due. */
  pass(ms: number): Promise<void>;
  /** Every `remove` and `end` that the tool was asked for. */
  removals(): string[];
  states(): Promise<Record<string, string>>;
  /** How often an alert of the kind was raised. */
  alerts(kind: string): Promise<number>;
  /** The sizes of all plans, oldest first. */
  plans(): Promise<number[]>;
}

type Wish = Omit<EventWish, 'type'>;

type TimedReader = SourceReader & Pick<Source, 'clockDriftMs'>;

/** What the marketplace answers. */
export interface Listing {
  grant?: string;
  /** Refuses the token. */
  isRefused?: boolean;
  /** Links whose job is refused: nothing is said of their contracts. */
  unread?: string[];
  /** By how much the clock of this machine is ahead of its own. */
  driftMs?: number;
  /** The project by the link's id. */
  links: Record<string, string>;
  provisioningMode?: string;
  /** The job of a link or of a contract, by its id. */
  jobs?: Record<string, string>;
  active?: Record<string, ListedContract>;
  ended?: Record<string, ListedContract>;
  /** Those that have ended, in the list of the active ones: some marketplaces do not filter. */
  strays?: Record<string, ListedContract>;
  /** Those that are in no list, although it is answered who is on them. */
  unlisted?: Record<string, ListedContract>;
}

export interface ListedContract {
  links: string[];
  people: string[];
}

export const minutes = 60_000;
export const hours = 60 * minutes;

type IncidentOptions = Parameters<typeof createEngine>[1] & {
  tool?: MemoryTool;
  converging?: Converging;
};

export function createIncident(
  database: Database,
  { tool = createMemoryTool(), converging = {}, ...options }: IncidentOptions = {},
): Incident {
  const [marketplaces, installs] = [new Map<string, Source>(), new Map<string, Install>()];
  const engine = createEngine(database, { installs, ...options });
  const { config, adapters } = withStudio(engine, tool, converging);
  Object.assign(engine, { config, adapters, sources: marketplaces });
  let raised = 0;
  let lists = 0;

  /** As the real worker does, for all that wait. @returns whether there was anything to be listed */
  async function listWanted(): Promise<boolean> {
    const turns = await listDueTurns(engine, toInstant(engine.clock.now()));
    const due = turns.filter(({ kind }) => kind === activeListJob.name);
    for (const { install } of due) await runNextJob(engine, activeListJob, install, new AbortController().signal);
    return due.length > 0;
  }

  async function settle(): Promise<void> {
    for (let turns = 0; turns < 50; turns += 1) {
      const done = await convergeDue(engine, tool, converging);
      if (!(await listWanted()) && done.length === 0) return;
    }
    throw new Error('there is always something left to do');
  }

  async function takeAll(type: string, wishes: Wish[], install = 'acme'): Promise<void> {
    const createdAt = toInstant(engine.clock.now());
    const bodies = wishes.map((wish) => {
      raised += 1;
      return fullEvent({ id: String(raised), createdAt, ...wish, type });
    });
    await engine.applyTogether(bodies, install);
    await derivePostponed(engine);
  }

  const take = (type: string, wish: Wish = {}, install?: string) => takeAll(type, [wish], install);

  async function readFrom(api: SourceReader, install = 'acme'): Promise<void> {
    await readWhole(engine, install, { clockDriftMs: () => undefined, ...api });
    await settle();
  }

  return {
    engine,
    tool,
    settle,
    take,
    takeAll,
    checkDrift: (install = 'acme') => checkDrift(engine, install, new AbortController().signal),
    async event(type, wish, install) {
      await take(type, wish, install);
      await settle();
    },
    read: (listing, install) => readFrom(toApi(listing), install),
    readFrom,
    lists: () => lists,
    answers(listing, install = 'acme') {
      const api = listing === undefined ? silent : toApi(listing);
      const listContracts: TimedReader['listContracts'] = (filter, signal) => {
        lists += 1;
        return api.listContracts(filter, signal);
      };
      marketplaces.set(install, { ...api, listContracts } as Source);
      if (options.installs === undefined) installs.set(install, inStudio());
    },
    async pass(ms) {
      engine.clock.advance(ms);
      await settle();
    },
    removals: () => tool.calls.filter((call) => /^(remove|end) /.test(call)),
    async states() {
      const rows = await engine.membershipRows();
      return Object.fromEntries(rows.map(({ groupId, trainerId, state }) => [`${groupId}/${trainerId}`, state]));
    },
    async alerts(kind) {
      if (isTold(kind)) await tellNow(engine);
      const { values } = await engine.metrics.alerts.get();
      return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
    },
    plans: async () => (await listPlans(engine, {})).map(({ size }) => size),
  };
}

/** From now on a removal from the project waits for its work to be read, which nothing does. */
export function awaitWork({ engine }: Incident, project: string): void {
  engine.braking.scopeOf = ({ install, externalProjectId }) =>
    externalProjectId === project ? { install, tool: 'studio', scope: project } : undefined;
}

async function readWhole(engine: Engine, install: string, api: TimedReader): Promise<void> {
  const ctx = { ...engine, sources: new Map([[install, api as Source]]) };
  const now = toInstant(engine.clock.now());
  await inTransaction(engine.database, (tx) => wantRead(tx, [install], now));
  await runNextJob(ctx, reconcileJob, install, new AbortController().signal);
  await derivePostponed(engine);
}

/** What one transaction was too small for. */
export async function derivePostponed(engine: Engine): Promise<void> {
  while (await hasPostponed(engine)) await engine.merge(emptyEvidence());
}

const refusal = new AppError('not_found', 'There is no such job', { status: 404 });

/** A marketplace that answers so. */
export function toApi({
  grant = 'cmi1',
  isRefused = false,
  unread = [],
  provisioningMode = 'PARTNER_WEBHOOK',
  jobs = {},
  active = {},
  ended = {},
  strays = {},
  unlisted = {},
  driftMs,
  ...listing
}: Listing): TimedReader {
  const links = Object.entries(listing.links).map(([id, externalProjectId]) => ({
    id,
    externalProjectId,
    externalProjectName: null,
    provisioningMode,
    ...(jobs[id] !== undefined && { jobId: jobs[id] }),
  }));
  const toListed = (status: string) => (contract: [string, ListedContract]) => {
    const [id, { links: projectLinkIds }] = contract;
    const listed = { id, status, title: null, projectLinkIds };
    return jobs[id] === undefined ? listed : { ...listed, jobId: jobs[id] };
  };
  const contracts = {
    active: [...Object.entries(active).map(toListed('active')), ...Object.entries(strays).map(toListed('ended'))],
    ended: Object.entries(ended).map(toListed('ended')),
  };
  const known = { ...unlisted, ...strays, ...ended, ...active };
  return {
    clockDriftMs: () => driftMs,
    async readGrant() {
      if (isRefused) throw new AppError('unauthenticated', 'The token is refused');
      return { id: grant, status: 'ACTIVE' };
    },
    listLinks: async () => [...links],
    readLink: async (id) => orUnknown(links.find((link) => link.id === id)),
    listContracts: async ({ status }) => ({
      contracts: contracts[status],
      isComplete: true,
      unreadLinks: unread.map((linkId) => ({ linkId, jobId: `job of ${linkId}`, refusal })),
    }),
    listParticipants: async (id) =>
      orUnknown(known[id]).people.map((trainer) => ({
        opentrainUserId: trainer,
        displayName: trainer,
        workEmail: `${trainer}@opentrain.work`,
      })),
  };
}

const noAnswer = () => Promise.reject(new AppError('unavailable', 'It does not answer'));

const silent: TimedReader = {
  clockDriftMs: () => undefined,
  readGrant: noAnswer,
  listLinks: noAnswer,
  readLink: noAnswer,
  listContracts: noAnswer,
  listParticipants: noAnswer,
};

function orUnknown<T>(found: T | undefined): T {
  if (found === undefined) throw new AppError('not_found', 'There is none');
  return found;
}
