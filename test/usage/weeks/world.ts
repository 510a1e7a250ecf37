import { setImmediate as nextTurn } from 'node:timers/promises';
import { Config } from '../../../src/config/config-schema.ts';
import type { Context } from '../../../src/context.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import type { Row } from '../../../src/db/schema.ts';
import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyLink,
  toPair,
  versionOfRead,
} from '../../../src/domain/evidence.ts';
import type { Install } from '../../../src/domain/install.ts';
import { applyEvidence } from '../../../src/evidence/apply-evidence.ts';
import { createSecretBox } from '../../../src/keys/secret-box.ts';
import { createAlerts } from '../../../src/lib/alerts.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { lockEvidence } from '../../../src/memberships/derivation-store.ts';
import { readNextScope } from '../../../src/usage/read/read-scope.ts';
import { keepScopes, listWorkScopes, wantScopes } from '../../../src/usage/read/scope-store.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  type ContractFact,
  dayMs,
  type Edge,
  install,
  memberOf,
  type Project,
  projects,
  toIso,
  toolOf,
} from './facts.ts';
import { createMarket } from './market.ts';
import type { Plan } from './plan.ts';
import { createTools } from './tools.ts';

export const lookbackDays = 4;
export const by = { actor: 'ada', at: 'now' };
export const { signal } = new AbortController();

export type World = ReturnType<typeof openWorld>;

const metrics = createMetrics();
const logger = createLogger({ level: 'silent', destination: { write: () => undefined } });
const box = createSecretBox(Buffer.alloc(32, 7));
const usualConfig = Config.parse({});

/** Gangway's usage side over a database, three tools and a marketplace. */
export function openWorld(database: Database, plan: Plan) {
  const clock = createFakeClock(toIso(plan.startMs));
  const tools = createTools();
  const market = createMarket(() => clock.now().getTime());
  const madeMs = new Map<string, number>();
  const { maxLoweredFraction, keepsDeleted } = plan;
  const usage = { maxLoweredFraction, deletedTasks: keepsDeleted ? ('keep' as const) : ('lower' as const) };
  const ctx: Context = {
    database,
    box,
    clock,
    logger,
    metrics,
    alerts: createAlerts(logger, metrics),
    config: {
      ...usualConfig,
      links: new Map(projects.map((project) => [project, { timeZone: plan.zones[project] }])),
      usage: { ...usualConfig.usage, ...usage, lookbackMs: lookbackDays * dayMs },
    },
    installs: new Map([[install, anInstall]]),
    sources: new Map([[install, market.source]]),
    adapters: tools.adapters,
    routeLink: ({ externalProjectId }) => {
      const tool = toolOf[externalProjectId as Project];
      return externalProjectId === null ? undefined : { tool, groupId: externalProjectId };
    },
    wake: () => undefined,
  };
  return {
    ...{ plan, database, ctx, clock, tools, market },
    contracts: [] as ContractFact[],
    /** When Gangway made an account, by tool and trainer. */
    madeMs,
    /** The memberships of a project. */
    membersOf: (project: Project): Promise<Row<'membership'>[]> =>
      database.kysely
        .selectFrom('membership')
        .selectAll()
        .where('groupId', '=', project)
        .where('memberId', 'is not', null)
        .execute(),
    async merge(evidence: Partial<Evidence>): Promise<void> {
      // The later reading counts.
      clock.advance(1000);
      const now = toInstant(clock.now());
      await inTransaction(database, async (tx) => {
        await lockEvidence(ctx, tx);
        await applyEvidence(ctx, tx, { ...emptyEvidence(), ...evidence }, now);
        await letIn({ tools, madeMs }, tx, now);
      });
    },
  };
}

const anInstall: Install = {
  source: 'platform',
  token: '',
  jobs: new Map(),
  webhookSecrets: [],
  tool: 'studio',
  projects: ['*'],
  guidelines: false,
  livesIn: 'configuration',
};

/** As converge would do it: lets in whoever is wanted, with a new account if the tool has none. */
async function letIn(
  { tools, madeMs }: Pick<World, 'tools' | 'madeMs'>,
  tx: Database['kysely'],
  now: string,
): Promise<void> {
  const waiting = await tx
    .selectFrom('membership')
    .selectAll()
    .where('wanted', '=', true)
    .where('state', '!=', 'active')
    .execute();
  for (const { id, tool, trainerId, generation, memberId } of waiting) {
    const accountId = memberOf(trainerId);
    const inside = { state: 'active', memberId: accountId, nextAttemptAt: null } as const;
    await tx.updateTable('membership').set(inside).where('id', '=', id).execute();
    if (memberId !== null) continue;
    const account = `${tool} ${trainerId}`;
    const isOurs = !tools.accounts.has(account);
    tools.accounts.add(account);
    if (isOurs) madeMs.set(account, Date.parse(now));
    const outcome = isOurs ? 'added' : 'already_member';
    const receipt = { membershipId: id, generation, operation: 'add', outcome, createdAt: now } as const;
    const unsaid = { toolStatus: null, message: null, metAfterMs: null };
    await tx
      .insertInto('receipt')
      .values({ ...receipt, ...unsaid })
      .execute();
    await tx.insertInto('account').values({ tool, accountId, isOurs, trainerId, seenAt: now, madeAt: null }).execute();
  }
}

/** Reads the work of every project. @returns whether it could be read */
export async function readAll({ ctx, database, tools, clock }: World, isComplete: boolean): Promise<boolean> {
  const now = toInstant(clock.now());
  const scopes = await listWorkScopes(ctx);
  await keepScopes(ctx, scopes, now);
  await inTransaction(database, async (tx) => {
    await wantScopes(tx, scopes, now);
    if (isComplete) await tx.updateTable('usageScope').set({ completeBeganAt: null }).execute();
  });
  while (await readNextScope(ctx, signal)) await nextTurn();
  return !tools.isBroken;
}

/** The marketplace's answer about a contract that begins. */
export function hireEvidence({ id, trainer, project, start }: ContractFact, now: string): Partial<Evidence> {
  const version = versionOfRead(now);
  return {
    contracts: [
      { ...emptyContract(install, id), startedEventAt: now, startDate: toInstantOf(start), startDateVersion: version },
    ],
    links: [{ ...emptyLink(install, `link-${project}`), firstSeenAt: now, seenAt: now, externalProjectId: project }],
    pairs: [toPair(install, id, `link-${project}`, now)],
    participations: [{ install, contractId: id, trainerId: trainer, seenAt: now, absences: null }],
    people: [
      {
        ...{ install, trainerId: trainer, displayName: null, displayNameVersion: null },
        ...{ workEmail: `${trainer}@opentrain.work`, workEmailVersion: version },
        ...{ addressMissing: null, addressMissingVersion: null },
      },
    ],
  };
}

/** A date without a time is midnight in UTC. */
export function toInstantOf(edge: Edge): string {
  return 'at' in edge ? edge.at : `${edge.day}T00:00:00.000Z`;
}
