import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { platformEventTypes } from '../../src/domain/event.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { openFrontDoor } from '../support/front-door.ts';

/** A marketplace with one customer whose people come and go. It never repeats a delivery that was answered. */
export interface CrashMarket {
  baseUrl: string;
  token: string;
  secret: string;
  /** @param origin the origin of a bridge's receiver */
  deliverTo(origin: string): void;
  /** Hires people whose contracts are renewed all the time. */
  hireForGood(): void;
  live(random: () => number, forMs: number): Promise<void>;
  /** Ends the contracts of everybody else. */
  endOthers(): void;
  /** Everybody with an active contract, as `project/trainer`, sorted. */
  wanted(): string[];
  /** The bodies of the deliveries that were answered with 200. */
  delivered(): string[];
  /** @param member somebody who is being removed right now */
  noteRemoval(member: string): void;
  /** People who were removed although they always had a contract. */
  mistaken(): string[];
}

interface Contract {
  id: string;
  beganAt: number;
  project: string;
  trainer: string;
}

const projects = ['street-signs', 'bank-notes'];
const forGood = Array.from({ length: 20 }, (_, index) => `good${index}`);
const others = 1000;
const mostActive = 30;
const pauseMs = 25;
/** A contract that starts and ends within the data a server loses leaves no row, and its people would stay in. */
const shortestMs = 2000;

export async function openCrashMarket(): Promise<CrashMarket> {
  // A retry after one minute comes after one second.
  const sandbox = createSandbox({ timeScale: 60, cursors: true });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const door = await openFrontDoor();
  const { installId, token } = sandbox.createInstall();
  const { secret } = await call<{ secret: string }>('/webhook-endpoints', {
    url: `${door.url}/webhooks/acme`,
    eventTypes: platformEventTypes,
  });
  const jobs = new Map(projects.map((project) => [project, sandbox.createJob({ installId }).id]));
  for (const [externalProjectId, jobId] of jobs) await call('/project-links', { externalProjectId, jobId });
  const contracts: Contract[] = [];
  const mistaken: string[] = [];

  async function call<T>(path: string, body: object): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`POST ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  function hire(project: string, trainer: string): void {
    const trainers = [{ opentrainUserId: trainer, workEmail: `${trainer}@opentrain.work` }];
    const { contractId } = sandbox.hire({ jobId: jobs.get(project) ?? '', trainers });
    contracts.push({ id: contractId, beganAt: performance.now(), project, trainer });
  }

  function end(contract: Contract): void {
    sandbox.endContract(contract.id);
    contracts.splice(contracts.indexOf(contract), 1);
  }

  function happen(random: () => number): void {
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
    const passing = contracts.filter((one) => !isForGood(one));
    const isRenewal = random() < 0.3;
    const isEnd = isRenewal || random() < passing.length / mostActive;
    const old = (isRenewal ? contracts.filter(isForGood) : passing).filter(isOld);
    const ending = isEnd ? pick(old) : undefined;
    if (isRenewal && ending !== undefined) hire(ending.project, ending.trainer);
    if (ending !== undefined) end(ending);
    else hire(pick(projects) ?? '', `usr${Math.floor(random() * others)}`);
  }

  return {
    baseUrl,
    token,
    secret,
    deliverTo: door.leadTo,
    hireForGood() {
      for (const project of projects) for (const trainer of forGood) hire(project, trainer);
    },
    async live(random, forMs) {
      const until = performance.now() + forMs;
      while (performance.now() < until) {
        happen(random);
        await wait(pauseMs);
      }
    },
    endOthers() {
      for (const contract of contracts.filter((one) => !isForGood(one))) end(contract);
    },
    wanted: () => [...new Set(contracts.map(({ project, trainer }) => `${project}/${trainer}`))].sort(),
    delivered: () => sandbox.listDeliveries().flatMap(({ status, body }) => (status === 'DELIVERED' ? [body] : [])),
    noteRemoval(member) {
      const [, trainer = ''] = member.split('/');
      if (forGood.includes(trainer)) mistaken.push(member);
    },
    mistaken: () => mistaken,
  };
}

function isOld({ beganAt }: Contract): boolean {
  return performance.now() - beganAt > shortestMs;
}

function isForGood({ trainer }: Contract): boolean {
  return forGood.includes(trainer);
}
