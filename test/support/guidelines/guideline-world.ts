import { onTestFinished } from 'vitest';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import type { Context } from '../../../src/context.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { emptyLink } from '../../../src/domain/evidence.ts';
import type { Install } from '../../../src/domain/install.ts';
import { findGuideline, type GuidelineRow } from '../../../src/guidelines/guideline-store.ts';
import { type SyncedInstall, syncInstall } from '../../../src/guidelines/sync-guidelines.ts';
import { type Alerts, createAlerts } from '../../../src/lib/alerts.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { fixedLinks } from '../../../src/marketplace/source.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createTestContext, inStudio } from '../engine-harness.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { createLogLines, type LogLines } from '../log-lines.ts';
import { createMemoryTool } from '../memory-tool.ts';
import { type Manual, writeManual } from './guideline-journey.ts';

/** Accounts at the marketplace whose jobs lead to projects of one tool in memory, and what syncs them. */
export interface GuidelineWorld {
  sandbox: Sandbox;
  clock: FakeClock;
  log: LogLines;
  tool: TextTool;
  ctx: Context;
  /** An install with an account of its own, whose one job leads to the project. */
  join(install: string, project: string): Promise<Employer>;
  /** One pass over an install, as an operator asks for it. */
  sync(install?: string, wish?: { overwrites?: boolean; ctx?: Context }): Promise<SyncedInstall>;
  row(project?: string): Promise<GuidelineRow | undefined>;
}

export interface Employer {
  accountId: string;
  jobId: string;
  /** Puts a manual of one page on the job, not published yet. */
  write(text: string, precedence?: number): Manual;
  /** Another job of the account. */
  writeFor(jobId: string, text: string): Manual;
  link(project: string): Promise<string>;
}

/** It shows one text for each project. */
export interface TextTool {
  adapter: Adapter;
  texts: Map<string, string>;
  /** How it cleans a written text. */
  clean: (text: string) => string;
  /** Runs before each call takes effect. What it throws is what the tool answers. */
  before: (call: 'read' | 'write', project: string) => Promise<void> | void;
  /** Runs after a text was written, before that is answered. */
  afterWrite: () => Promise<void> | void;
  writes: number;
}

const pacing = { requestsPerSecond: 100_000, burst: 100_000 };
const by = { actor: 'otto', origin: 'command line' };

function createTextTool(): TextTool {
  const tool: TextTool = {
    texts: new Map(),
    clean: (text) => text,
    before: () => undefined,
    afterWrite: () => undefined,
    writes: 0,
    adapter: createMemoryTool().adapter,
  };
  tool.adapter = {
    ...tool.adapter,
    capabilities: { ...tool.adapter.capabilities, guidelines: 'html' },
    async readGuidelines(project) {
      await tool.before('read', project);
      return tool.texts.get(project) ?? '';
    },
    async writeGuidelines(project, text) {
      await tool.before('write', project);
      tool.texts.set(project, tool.clean(text));
      tool.writes += 1;
      await tool.afterWrite();
    },
  };
  return tool;
}

export async function openGuidelineWorld(
  database: Database,
  hears?: (parts: { database: Database; clock: FakeClock; logger: LogLines['logger'] }) => Alerts,
): Promise<GuidelineWorld> {
  const [clock, log, tool] = [createFakeClock(), createLogLines(), createTextTool()];
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const installs = new Map<string, Install>();
  const sources = new Map();
  const { logger } = log;
  const alerts = createAlerts(logger, createMetrics(), hears?.({ database, clock, logger }));
  const adapters = new Map([['studio', tool.adapter]]);
  const ctx = createTestContext(database, { installs, sources, adapters, alerts, clock, logger });
  let links = 0;

  return {
    sandbox,
    clock,
    log,
    tool,
    ctx,
    async join(install, project) {
      const { accountId, token } = sandbox.createAccount();
      installs.set(install, inStudio());
      sources.set(
        install,
        createEmployerSource({ baseUrl: employerBaseUrl, token, links: fixedLinks(new Map()), pacing }),
      );
      const link = async (to: string) => {
        const { id } = sandbox.createJob({ accountId });
        links += 1;
        const seenAt = clock.now().toISOString();
        const linked = {
          ...emptyLink(install, `lnk_${links}`),
          seenAt,
          firstSeenAt: seenAt,
          externalProjectId: to,
          jobId: id,
        };
        await inTransaction(database, (tx) => tx.insertInto('link').values(linked).execute());
        return id;
      };
      const jobId = await link(project);
      return {
        accountId,
        jobId,
        link,
        write: (text, precedence = 0) => writeManual(sandbox, accountId, { text, jobId, precedence }),
        writeFor: (job, text) => writeManual(sandbox, accountId, { text, jobId: job }),
      };
    },
    sync: (install = 'own', { overwrites = false, ctx: given = ctx } = {}) =>
      syncInstall(given, { install, overwrites, by }, new AbortController().signal),
    row: (project = 'signs') => findGuideline(ctx, { tool: 'studio', project }),
  };
}

/** What a call answers that the tool cannot take now. */
export const down = new AppError('unavailable', 'The tool answered 503', { status: 503 });
