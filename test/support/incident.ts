import type { Database } from '../../src/db/database.ts';
import { inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { emptyEvidence } from '../../src/domain/evidence.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { PlatformApi } from '../../src/marketplace/platform-api.ts';
import { createReconcileWorker } from '../../src/reconcile/reconcile-worker.ts';
import { type Converging, convergeDue } from './converging.ts';
import { createEngine, type Engine } from './engine-harness.ts';
import { type EventWish, fullEvent } from './event-bodies.ts';
import { createMemoryTool, type MemoryTool } from './memory-tool.ts';
import { until } from './until.ts';

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
  /** Does what is due in the tool, as far as the brake lets it. */
  settle(): Promise<void>;
  /** Moves the time on, and does what falls due by it. */
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

/** What the marketplace answers. */
export interface Listing {
  grant?: string;
  /** Refuses the token. */
  isRefused?: boolean;
  /** The project by the link's id. */
  links: Record<string, string>;
  provisioningMode?: string;
  active?: Record<string, ListedContract>;
  ended?: Record<string, ListedContract>;
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
  const engine = createEngine(database, options);
  let raised = 0;

  async function settle(): Promise<void> {
    for (let turns = 0; turns < 50; turns += 1) {
      if ((await convergeDue(engine, tool, converging)).length === 0) return;
    }
    throw new Error('there is always something left to do');
  }

  async function takeAll(type: string, wishes: Wish[], install = 'acme'): Promise<void> {
    const createdAt = toInstant(engine.clock.now());
    const bodies = wishes.map((wish) => {
      raised += 1;
      return fullEvent({ id: String(raised), createdAt, ...wish, type });
    });
    await engine.apply(bodies, install);
    await derivePostponed(engine);
  }

  const take = (type: string, wish: Wish = {}, install?: string) => takeAll(type, [wish], install);

  return {
    ...{ engine, tool, settle, take, takeAll },
    async event(type, wish, install) {
      await take(type, wish, install);
      await settle();
    },
    async read(listing, install = 'acme') {
      await readWhole(engine, install, toApi(listing));
      await settle();
    },
    async pass(ms) {
      engine.clock.advance(ms);
      await settle();
    },
    removals: () => tool.calls.filter((call) => /^(remove|end) /.test(call)),
    async states() {
      const rows = await engine.membershipRows();
      return Object.fromEntries(
        rows.map(({ groupId, trainerId, state }) => [`${groupId}/${trainerId}`, state]),
      );
    },
    async alerts(kind) {
      const { values } = await engine.metrics.alerts.get();
      return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
    },
    plans: async () => (await engine.plans.list({})).map(({ size }) => size),
  };
}

async function readWhole(engine: Engine, install: string, api: PlatformApi): Promise<void> {
  const worker = createReconcileWorker({ ...engine, platformApis: new Map([[install, api]]) });
  const now = () => toInstant(engine.clock.now());
  await inTransaction(engine.database, (tx) => engine.installStates.wantRead(tx, [install], now()));
  worker.start();
  try {
    const hasDue = () => engine.installStates.hasDue(now());
    await until('the install is read', hasDue, (due) => !due);
  } finally {
    await worker.stop();
  }
  await derivePostponed(engine);
}

/** What one transaction was too small for. */
export async function derivePostponed(engine: Engine): Promise<void> {
  while (await engine.memberships.hasPostponed()) await engine.merge(emptyEvidence());
}

function toApi({
  grant = 'cmi1',
  isRefused = false,
  provisioningMode = 'PARTNER_WEBHOOK',
  active = {},
  ended = {},
  ...listing
}: Listing): PlatformApi {
  const links = Object.entries(listing.links).map(([id, externalProjectId]) => ({
    ...{ id, externalProjectId, externalProjectName: null, provisioningMode },
  }));
  const contracts = { active, ended };
  return {
    async getInstall() {
      if (isRefused) throw new AppError('unauthenticated', 'The token is refused');
      return { id: grant, status: 'ACTIVE' };
    },
    listProjectLinks: async () => [...links],
    getProjectLink: async (id) => orUnknown(links.find((link) => link.id === id)),
    listContracts: async ({ status }) => ({
      contracts: Object.entries(contracts[status]).map(([id, { links: projectLinkIds }]) => ({
        ...{ id, status, title: null, projectLinkIds },
      })),
      isComplete: true,
    }),
    listParticipants: async (id) =>
      orUnknown(active[id] ?? ended[id]).people.map((trainer) => ({
        ...{ opentrainUserId: trainer, displayName: trainer },
        workEmail: `${trainer}@opentrain.work`,
      })),
  };
}

function orUnknown<T>(found: T | undefined): T {
  if (found === undefined) throw new AppError('not_found', 'There is none');
  return found;
}
