import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { platformEventTypes } from '../../src/domain/event.ts';
import type { Day } from '../../src/domain/usage.ts';
import { addDays } from '../../src/lib/days.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import type { CommandResult } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { createMovedClock, type MovedClock } from './moved-clock/moved-clock.ts';
import { freePort, type ServerProcess, startServer } from './server-process.ts';

/**
 * The marketplace, a bridge that is a process of its own, and its command line, before a tool that
 * really runs: all by one clock. Nothing of the bridge is looked into but what it shows.
 */
export interface UsageStage {
  /** The first day is tomorrow, or any later one: `FIRST_DAY=2027-02-25 npm run test:tools:doccano`. */
  day(number: number): Day;
  /** An instant, from a time such as `13:05`. */
  at(number: number, time: string): string;
  clock: MovedClock;
  sandbox: Sandbox;
  /** Moves the clock past a full hour; resolves when the bridge has read and reported by its schedule. */
  pass(instant: string): Promise<void>;
  /** Begins the bridge. */
  start(settings: StageSettings): Promise<void>;
  /** On a job of its own, linked to this project; by the name that people are known by on it. */
  openJob(externalProjectId: string): Promise<string>;
  /** @param startDate now by default */
  hire(jobId: string, name: string, startDate?: string): Worker;
  /** Resolves when all of them are in; with what they get in with, by trainer. */
  letIn(...workers: Worker[]): Promise<Map<string, Login>>;
  run(...argv: string[]): Promise<CommandResult>;
  /** The same, as the JSON that it prints. */
  ask<Answer>(...argv: string[]): Promise<Answer & { status: number }>;
  /** What the marketplace holds, as `seconds/tasks/labels` of each day. */
  totals(worker: Worker): Record<Day, string>;
  /** Resolves when it holds this. */
  holds(worker: Worker, wanted: Record<Day, string>): Promise<void>;
  stop(): Promise<void>;
}

export interface StageSettings {
  tool: Record<string, unknown>;
  links?: Record<string, { timeZone: string }>;
}

/** A trainer on one contract. */
export interface Worker {
  contractId: string;
  trainerId: string;
  email: string;
}

export interface Login {
  url: string;
  username: string;
  password: string;
}

const commandMs = 120_000;
const everyHour = '0 * * * *';
const hardlyEver = '0 0 29 2 *';

/** It begins on the first day at 13:05. */
export async function openUsageStage(): Promise<UsageStage> {
  const firstDay = process.env['FIRST_DAY'] ?? addDays(new Date().toISOString().slice(0, 10), 1);
  const day = (number: number) => addDays(firstDay, number);
  const at = (number: number, time: string) => `${day(number)}T${time}:00.000Z`;
  const folder = mkdtempSync(path.join(tmpdir(), 'gangway-stage-'));
  const clock = createMovedClock(folder, at(0, '13:05'));
  const sandbox = createSandbox({ clock });
  const { baseUrl } = await sandbox.start();
  const install = sandbox.createInstall({ piiConsent: true });
  const receiver = { host: '127.0.0.1', port: await freePort(), drain: '0s' };
  const configFile = path.join(folder, 'gangway.config.json');
  let bridge: ServerProcess | undefined;

  async function api<Answer>(apiPath: string, body: object): Promise<Answer> {
    const response = await fetch(`${baseUrl}${apiPath}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${install.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${apiPath} answered ${response.status}`);
    return (await response.json()) as Answer;
  }

  const env = { PATH: process.env['PATH'] ?? '', ...clock.env };
  const toArgs = (argv: string[]) => [...clock.nodeArgs, path.resolve('src/main.ts'), ...argv, '--config', configFile];

  async function run(...argv: string[]): Promise<CommandResult> {
    return await new Promise((resolve) => {
      const options = { env, timeout: commandMs, maxBuffer: 16 * 1024 * 1024 };
      execFile(process.execPath, toArgs(argv), options, (error, stdout, stderr) => {
        const status = typeof error?.code === 'number' ? error.code : 0;
        resolve({ status: error?.killed ? Number.NaN : status, stdout, stderr });
      });
    });
  }

  async function ask<Answer>(...argv: string[]): Promise<Answer & { status: number }> {
    const { status, stdout, stderr } = await run(...argv, '--json');
    if (stdout === '') throw new Error(`gangway ${argv.join(' ')} ended with ${status}: ${stderr}`);
    return { ...(JSON.parse(stdout) as Answer), status };
  }

  function totals({ contractId, trainerId }: Worker): Record<Day, string> {
    const contract = sandbox.snapshot().contracts.find(({ id }) => id === contractId);
    const days = contract?.usage.filter((day) => day.workerOpentrainUserId === trainerId) ?? [];
    return Object.fromEntries(
      days.map((day) => [day.workDate, `${day.totalSeconds}/${day.tasksCompleted}/${day.labelsCompleted}`]),
    );
  }

  return {
    day,
    at,
    clock,
    sandbox,
    run,
    ask,
    totals,

    async pass(instant) {
      clock.moveTo(instant);
      // A clock that moves during a reading takes its lease away.
      const look = () =>
        bridge
          ?.output()
          .split('\n')
          .some((line) => saysReported(line, instant));
      await until(`a report after ${instant}`, look, (isReported) => isReported === true);
    },

    async openJob(externalProjectId) {
      const { id: jobId } = sandbox.createJob({ installId: install.installId });
      await api('/project-links', { externalProjectId, jobId });
      return jobId;
    },

    async start({ tool, links = {} }) {
      const url = `http://127.0.0.1:${receiver.port}/webhooks/acme`;
      const { secret } = await api<{ secret: string }>('/webhook-endpoints', { url, eventTypes: platformEventTypes });
      const consoleAt = { port: await freePort() };
      const config = {
        receiver,
        console: consoleAt,
        database: { url: 'sqlite:./gangway.db' },
        links,
        marketplace: { baseUrl },
        installs: { acme: { token: install.token, webhookSecrets: [secret], tool: 'studio' } },
        tools: { studio: tool },
        reconcile: { schedule: hardlyEver },
        usage: { schedule: everyHour },
      };
      writeFileSync(configFile, JSON.stringify(config));
      bridge = await startServer({
        command: process.execPath,
        args: toArgs(['start']),
        env,
        readyUrl: `http://127.0.0.1:${consoleAt.port}/readyz`,
        timeoutMs: commandMs,
      });
    },

    hire(jobId, name, startDate) {
      const trainerId = `usr-${name}`;
      const email = `${name}@opentrain.work`;
      const trainers = [{ opentrainUserId: trainerId, workEmail: email }];
      const { contractId } = sandbox.hire({ jobId, trainers, ...(startDate !== undefined && { startDate }) });
      return { trainerId, email, contractId };
    },

    async letIn(...workers) {
      const { items: members } = await until(
        'all trainers are in',
        () => ask<{ items: Member[] }>('members'),
        (seen) => {
          const inside = seen.items.filter(({ state }) => state === 'active');
          const ids = new Set(inside.map(({ trainerId }) => trainerId));
          return workers.every(({ trainerId }) => ids.has(trainerId));
        },
      );
      const logins = new Map<string, Login>();
      for (const { id, trainerId } of members) {
        const isOf = workers.some((worker) => worker.trainerId === trainerId);
        if (!isOf || logins.has(trainerId)) continue;
        const shown = await ask<{ invitation: Login }>('members', 'invitation', String(id));
        logins.set(trainerId, shown.invitation);
      }
      return logins;
    },

    async holds(worker, wanted) {
      const isSo = (seen: Record<Day, string>) => JSON.stringify(seen) === JSON.stringify(wanted);
      const what = `the marketplace holds ${JSON.stringify(wanted)}`;
      await until(what, () => totals(worker), isSo);
    },

    async stop() {
      await bridge?.stop();
      await sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A line of the bridge's log. The final report of a contract, which the log names, waits for no other reading. */
function saysReported(line: string, since: string): boolean {
  if (!line.includes('"msg":"Usage was reported"')) return false;
  const { time, contractId } = JSON.parse(line) as { time: string; contractId?: string };
  return contractId === undefined && time >= since;
}

interface Member {
  id: number;
  trainerId: string;
  state: string;
}
