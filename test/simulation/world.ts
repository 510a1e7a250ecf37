import { createHmac } from 'node:crypto';
import { fullEvent } from '../support/event-bodies.ts';
import { clockwork } from './clockwork.ts';
import { type Fleet, type FleetSettings, openFleet, webhookUrlOf } from './fleet.ts';
import { emailOf, type Market, openMarket, people } from './market.ts';
import { createModelTool, type ModelTool } from './model-tool.ts';
import type { Plan, Step } from './plan.ts';
import { createTroubles, type Trouble, type Troubles, troubles as troubleNames } from './troubles.ts';

/** A marketplace with its customers, a tool that they share, and the instances of Gangway between them. */
export interface World {
  tool: ModelTool;
  market: Market;
  fleet: Fleet;
  troubles: Troubles;
  happen(step: Step): Promise<void>;
  /** From now on nothing goes wrong. */
  calm(): Promise<void>;
  /** Whether a hand or a backup has changed a seat that no list would show. */
  isMeddledWith(seat: string): boolean;
  log(line: string): void;
  close(): Promise<void>;
}

const minuteMs = 60_000;
/** A customer who means harm knows a secret of their own, so they can sign whatever they like. */
const harm = { customer: 'globex', secret: 'whsec_of_a_customer_who_means_harm' } as const;

/** @param open what stands between the marketplace and the tool: Gangway, where nothing else is given */
export async function openWorld(
  plan: Plan,
  onLog: (line: string) => void,
  open: (settings: FleetSettings) => Promise<Fleet> = openFleet,
): Promise<World> {
  const log = (line: string) => onLog(`${new Date(clockwork.nowMs()).toISOString().slice(5, 19)} ${line}`);
  const market = await openMarket(plan.seed, webhookUrlOf);
  const tool = createModelTool(plan.traits);
  const troubles = createTroubles(market, tool);
  const fleet = await open({
    market,
    tool,
    log,
    hasBrake: plan.hasBrake,
    isManaged: plan.isManaged,
    secrets: { [harm.customer]: harm.secret },
    diskFault: troubles.diskFault,
  });

  const meddled = new Set<string>();
  const acts = createActs({ market, tool, troubles, fleet, log }, meddled);
  return {
    tool,
    market,
    fleet,
    troubles,
    log,
    isMeddledWith: (seat) => !plan.traits.lists && meddled.has(seat),
    async happen(step) {
      log(`${step.kind} ${step.customer} (${step.forMin} min)`);
      if (isTrouble(step.kind)) troubles.begin(step.kind, step.customer, step.forMin);
      else await acts[step.kind](step);
    },
    async calm() {
      fleet.setAhead(0);
      troubles.endAll();
      await fleet.start();
    },
    async close() {
      await fleet.close();
      await market.sandbox.stop();
    },
  };
}

function isTrouble(kind: Step['kind']): kind is Trouble {
  return (troubleNames as readonly string[]).includes(kind);
}

type Acts = Record<Exclude<Step['kind'], Trouble>, (step: Step) => Promise<void> | void>;

function createActs(
  { market, tool, troubles, fleet, log }: Pick<World, 'market' | 'tool' | 'troubles' | 'fleet' | 'log'>,
  meddled: Set<string>,
): Acts {
  const contractOf = ({ customer, which }: Step) => pick(market.contractsOf(customer), which);
  const anyone = (chance: number) => pick(people, chance) ?? 't1';

  /** What is true of another customer's contract, said as if it were the hostile one's own. */
  async function forge(type: string, which: number, other: number): Promise<void> {
    const victim = pick(
      market.contracts.filter(({ job }) => job.customer !== harm.customer),
      which,
    );
    if (victim === undefined) return;
    const trainer = victim.people[0] ?? 't1';
    const body = fullEvent({
      type,
      id: String(9_000_000_000 + Math.floor(other * 1e9)),
      createdAt: new Date().toISOString(),
      contract: victim.id,
      trainer,
      workEmail: emailOf(other < 0.5 ? trainer : 'mallory'),
      link: victim.job.linkId ?? 'lnk_forged',
      job: victim.job.id,
      project: victim.job.project,
    });
    const seconds = Math.floor(Date.now() / 1000);
    const digest = createHmac('sha256', harm.secret).update(`${seconds}.${body}`).digest('hex');
    await fleet.deliverTo(harm.customer, body, `t=${seconds},v1=${digest}`);
  }

  return {
    hire({ customer, which, other }) {
      const job = pick(market.jobsOf(customer), which);
      if (job !== undefined) market.hire(job, anyone(other));
    },
    end(step) {
      const contract = contractOf(step);
      if (contract !== undefined) market.end(contract);
    },
    renew(step) {
      const contract = contractOf(step);
      if (contract === undefined) return;
      market.hire(contract.job, contract.people[0] ?? 't1');
      market.end(contract);
    },
    replace(step) {
      const contract = contractOf(step);
      // One contract of an employer's own account has one trainer, for good.
      if (contract !== undefined && step.customer !== 'own') market.replace(contract, anyone(step.other));
    },
    async unlink({ customer, which }) {
      const job = pick(market.jobsOf(customer), which);
      if (job !== undefined && customer !== 'own') await market.unlink(job);
    },
    async link({ customer, which }) {
      const job = pick(market.jobsOf(customer), which);
      if (job?.linkId === null) await market.link(job);
    },
    async reconnect({ customer, forMin }) {
      if (customer === 'own') return;
      await market.reconnect(customer);
      troubles.note();
      // Their operator puts the new token into the configuration, and links their projects again.
      await fleet.restart(Math.min(forMin, 30) * minuteMs);
      for (const job of market.jobsOf(customer)) await market.link(job);
    },
    async tool_restored({ forMin }) {
      const kept = tool.backUp();
      await clockwork.wait(forMin * minuteMs);
      const before = tool.seats();
      tool.restore(kept);
      for (const seat of [...before, ...tool.seats()])
        if (before.has(seat) !== tool.seats().has(seat)) meddled.add(seat);
      troubles.note();
      log('the tool is put back from a backup');
    },
    hand_removes({ which }) {
      const seat = pick([...tool.seats()], which);
      if (seat === undefined) return;
      tool.takeOut(seat);
      meddled.add(seat);
      troubles.note();
    },
    hand_adds({ which, other }) {
      const job = pick(market.jobs, which);
      if (job !== undefined) tool.putIn(job.project, `stranger${Math.floor(other * 3)}@elsewhere.example`);
    },
    killed({ forMin, which }) {
      const downMs = which < 0.5 ? 0 : forMin * minuteMs;
      troubles.note(clockwork.nowMs() + downMs);
      return fleet.restart(downMs);
    },
    second_instance: ({ forMin }) => fleet.runSecond(forMin * minuteMs),
    async restored({ forMin }) {
      await fleet.restore(forMin * minuteMs);
      troubles.note();
    },
    clock_jumps({ which, forMin }) {
      fleet.setAhead(which < 0.5 ? 0 : Math.min(forMin, 4) * minuteMs);
      troubles.note();
      return fleet.restart(0);
    },
    forged_end: ({ which, other }) => forge('contract.ended', which, other),
    forged_hire: ({ which, other }) => forge('contract.started', which, other),
    async foreign_link({ which }) {
      const project = pick(foreignProjects, which) ?? '';
      const [job] = market.jobsOf(harm.customer);
      await market.call(harm.customer, 'POST', '/project-links', { externalProjectId: project, jobId: job?.id });
    },
    async flood({ which }) {
      for (let count = 0; count < 40; count += 1) await forge('contract.started', which, clockwork.random());
    },
    async approve() {
      await fleet.approveAll();
    },
  };
}

/** What the hostile customer links their job to. */
const foreignProjects = ['acme-1', 'own-2', 'ACME-1', 'acme-1/../acme-2', ' acme-1', 'acme-%31', 'globex-1/../acme-1'];

function pick<T>(from: readonly T[], chance: number): T | undefined {
  return from[Math.floor(chance * from.length)];
}
