import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type ContractEvent, toBody } from '../support/lifecycle-events.ts';
import { createRandom } from '../support/random.ts';
import type { SecondMarketplace } from '../support/second-marketplace/second-marketplace.ts';
import { sign } from '../support/sign.ts';

/**
 * What a marketplace sends while people are hired and contracts end, at a fixed rate: some begin, as many end, one in
 * twenty deliveries is a repeat, and all others are further events of contracts that go on.
 */
export interface SoakTraffic {
  /** Sends until the time is over. */
  run(url: string, durationMs: number): Promise<void>;
  /** How long answers took since this was asked before, in milliseconds from when each was due. */
  takeAnswerMs(): number[];
  /** The ids of the deliveries that were answered with 200. */
  acknowledged: ReadonlySet<string>;
  /** Answers other than 200, and requests without one. */
  failed(): ReadonlyMap<string, number>;
  sent(): number;
  /** How many contracts have begun. */
  begun(): number;
  /** Who belongs in the tool now, as `project/trainer`, sorted. */
  wanted(): string[];
  /** Sees each moment at which somebody begins or ceases to belong. */
  onWanted: (member: string, isWanted: boolean) => void;
}

export interface Project {
  name: string;
  jobId: string;
  linkId: string;
}

interface Deps {
  market: SecondMarketplace;
  projects: readonly Project[];
  secret: string;
  seed: number;
  /** Deliveries a second. */
  rate: number;
  /** Contracts that begin each second. */
  hiresPerSecond: number;
  /** How many go on at the same time, once as many end as begin. */
  active: number;
}

const trainers = 1000;
const repeatedShare = 0.05;
const mostConnections = 64;
const requestTimeoutMs = 30_000;

interface Begun {
  contract: string;
  trainer: string;
  project: Project;
}

interface Outgoing {
  body: string;
  deliveryId: string;
}

export function createSoakTraffic(deps: Deps): SoakTraffic {
  const { market, projects, secret, rate, hiresPerSecond, active: mostActive } = deps;
  const random = createRandom(deps.seed);
  const agent = new Agent({ keepAlive: true, maxSockets: mostConnections });
  const active: Begun[] = [];
  /** Of how many contracts each belongs there. */
  const reasons = new Map<string, number>();
  const acknowledged = new Set<string>();
  const failed = new Map<string, number>();
  let answerMs: number[] = [];
  let number = 0;
  let begun = 0;
  let last: Outgoing | undefined;

  const pick = (count: number) => Math.floor(random() * count);

  function say(type: ContractEvent['type'], { contract, trainer, project }: Begun): Outgoing {
    number += 1;
    const { name, jobId, linkId } = project;
    const createdAt = new Date().toISOString();
    const event = { type, number, contract, trainer, project: name, link: linkId, job: jobId, createdAt };
    return { body: toBody(event), deliveryId: `soak-${number}` };
  }

  function count(member: string, more: number): void {
    const before = reasons.get(member) ?? 0;
    if (before + more > 0) reasons.set(member, before + more);
    else reasons.delete(member);
    if (before === 0 || before + more === 0) traffic.onWanted(member, before === 0);
  }

  function begin(): Outgoing {
    const project = projects[pick(projects.length)];
    if (project === undefined) throw new Error('there is no project');
    const trainer = `usr${pick(trainers)}`;
    const one = { contract: market.hire(project.jobId, [trainer]), trainer, project };
    active.push(one);
    begun += 1;
    count(`${project.name}/${trainer}`, 1);
    return say('contract.started', one);
  }

  function end(): Outgoing {
    const index = pick(active.length);
    const [one] = active.splice(index, 1);
    if (one === undefined) return begin();
    market.end(one.contract);
    count(`${one.project.name}/${one.trainer}`, -1);
    return say('contract.ended', one);
  }

  function next(): Outgoing {
    const share = hiresPerSecond / rate;
    const drawn = random();
    if (drawn < share || active.length === 0) return begin();
    if (drawn < 2 * share && active.length >= mostActive) return end();
    if (last !== undefined && random() < repeatedShare) return last;
    const one = active[pick(active.length)];
    return one === undefined ? begin() : say('contract.started', one);
  }

  async function send(url: string, outgoing: Outgoing, dueAt: number): Promise<void> {
    const said = await exchange(url, agent, secret, outgoing);
    answerMs.push(performance.now() - dueAt);
    if (said === '200') acknowledged.add(outgoing.deliveryId);
    else failed.set(said, (failed.get(said) ?? 0) + 1);
  }

  const traffic: SoakTraffic = {
    async run(url, durationMs) {
      const begunAt = performance.now();
      const underWay = new Set<Promise<void>>();
      for (let index = 0; ; index += 1) {
        const dueAt = begunAt + (index * 1000) / rate;
        if (dueAt >= begunAt + durationMs) break;
        const waitMs = dueAt - performance.now();
        if (waitMs > 1) await wait(waitMs);
        last = next();
        const sending = send(url, last, dueAt).finally(() => underWay.delete(sending));
        underWay.add(sending);
      }
      await Promise.all(underWay);
      agent.destroy();
    },
    takeAnswerMs() {
      const taken = answerMs;
      answerMs = [];
      return taken;
    },
    acknowledged,
    failed: () => failed,
    sent: () => number,
    begun: () => begun,
    wanted: () => [...reasons.keys()].toSorted(),
    onWanted: () => undefined,
  };
  return traffic;
}

/** @returns the status, or what went wrong */
async function exchange(url: string, agent: Agent, secret: string, { body, deliveryId }: Outgoing): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-opentrain-delivery': deliveryId,
    'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
  };
  return await new Promise((resolve) => {
    const outgoing = request(url, { agent, method: 'POST', headers, timeout: requestTimeoutMs });
    outgoing.on('response', (incoming) => {
      incoming.resume().on('end', () => resolve(String(incoming.statusCode)));
      incoming.on('error', ({ message }) => resolve(message));
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
    outgoing.on('error', ({ message }) => resolve(message));
    outgoing.end(body);
  });
}
