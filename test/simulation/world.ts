import { createHmac } from 'node:crypto';
import { fullEvent } from '../support/event-bodies.ts';
import { clockwork } from './clockwork.ts';
import { type Fleet, openFleet, webhookUrlOf } from './fleet.ts';
import { createFuse, type Fuse } from './fuse.ts';
import { type Contract, emailOf, type Market, openMarket, people, type Reason } from './market.ts';
import { createModelTool, type ModelTool } from './model-tool.ts';
import { setWitness } from './network.ts';
import type { Customer, Plan, Step } from './plan.ts';
import { createTroubles, type Trouble, type Troubles, troubles as troubleNames } from './troubles.ts';

/** A marketplace with its customers, a tool that they share, and the instances of Gangway between them. */
export interface World {
  tool: ModelTool;
  market: Market;
  fleet: Fleet;
  troubles: Troubles;
  /** Whether removals beyond a limit are held. */
  hasBrake: boolean;
  /** Whether little happens, and readings are rare. */
  isQuiet: boolean;
  happen(step: Step): Promise<void>;
  /** Ends all faults. */
  calm(): Promise<void>;
  /** Whether somebody or a backup changed a seat that no list would show, or an operator had its people kept. */
  isMeddledWith(seat: string): boolean;
  /**
   * The seat that a customer added beside that of a trainer, on a contract and in a project of their own, by forging the
   * trainer's address. Gangway cannot know better until a list shows it, and an access stays under the address it was
   * given under while the contract goes on.
   */
  forgedSeatOf(reason: Pick<Reason, 'customer' | 'seat'>): string | null;
  /** Whether the tool reports work, and still has all of it. */
  isWorkKnown(): boolean;
  log(line: string): void;
  close(): Promise<void>;
}

const minuteMs = 60_000;
const crewSize = 3;
/** In quiet weeks, including the hours until a list shows who came back. */
const keptAtLeastMs = 18 * 60 * minuteMs;
/** A malicious customer knows their own secret, so they can sign anything. */
const harm = { customer: 'globex', secret: 'whsec_of_a_customer_who_means_harm', address: emailOf('mallory') } as const;

export async function openWorld(plan: Plan, onLog: (line: string) => void): Promise<World> {
  const log = (line: string) => onLog(`${new Date(clockwork.nowMs()).toISOString().slice(5, 19)} ${line}`);
  const market = await openMarket(plan.seed, webhookUrlOf);
  const tool = createModelTool(plan.traits);
  const troubles = createTroubles(market, tool);
  const fleet = await openFleet({
    market,
    tool,
    log,
    hasBrake: plan.hasBrake,
    isQuiet: plan.isQuiet,
    isManaged: plan.isManaged,
    secrets: { [harm.customer]: harm.secret },
    diskFault: troubles.diskFault,
  });

  const fuse = createFuse();
  setWitness(fuse.strike);
  tool.onDone = fuse.strike;
  const meddled = new Set<string>();
  const kept = new Set<string>();
  const renamed = new Set<string>();
  const forged = new Set<string>();
  let isWorkUnsure = false;
  const acts = createActs({ market, tool, troubles, fleet, fuse, plan, log }, { meddled, kept, renamed, forged });
  return {
    tool,
    market,
    fleet,
    troubles,
    hasBrake: plan.hasBrake,
    isQuiet: plan.isQuiet,
    log,
    isMeddledWith: (seat) => kept.has(seat) || renamed.has(seat) || (!plan.traits.lists && meddled.has(seat)),
    forgedSeatOf({ customer, seat }) {
      const [project = '', address = ''] = seat.split('/');
      return customer === harm.customer && forged.has(address) ? `${project}/${harm.address}` : null;
    },
    isWorkKnown: () => plan.traits.counts && !isWorkUnsure,
    async happen(step) {
      log(`${step.kind} ${step.customer} (${step.forMin} min)`);
      isWorkUnsure ||= ['tool_restored', 'own_address', 'database_lost'].includes(step.kind);
      if (isTrouble(step.kind)) troubles.begin(step.kind, step.customer, step.forMin);
      else await acts[step.kind](step);
    },
    async calm() {
      await fuse.disarm();
      fleet.setAhead(0);
      troubles.endAll();
      renamed.clear();
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

type Scene = Pick<World, 'market' | 'tool' | 'troubles' | 'fleet' | 'log'> & { fuse: Fuse; plan: Plan };

/**
 * Seats that somebody else has changed or had kept, or about which an operator must still be asked; and the true addresses
 * of trainers whose address a customer forged.
 */
type Marks = Record<'meddled' | 'kept' | 'renamed' | 'forged', Set<string>>;

function createActs(
  { market, tool, troubles, fleet, fuse, plan, log }: Scene,
  { meddled, kept, renamed, forged }: Marks,
): Acts {
  const contractOf = ({ customer, which }: Step) => pick(market.contractsOf(customer), which);
  const anyone = (chance: number) => pick(people, chance) ?? 't1';
  let moves = 0;

  /**
   * By design, people who return with a restored backup are taken to be added by somebody else, if they are hired again
   * before a list shows them, or if their address is deleted by then.
   */
  function noteRestored(before: ReadonlySet<string>): void {
    const seats = tool.seats();
    const back = [...seats].filter((seat) => !before.has(seat));
    const gone = [...before].filter((seat) => !seats.has(seat));
    for (const seat of [...gone, ...back]) meddled.add(seat);
    const standing = market.reasons().filter(({ untilMs }) => untilMs === null);
    const wanted = new Set(standing.map(({ seat }) => seat));
    for (const seat of back.filter((one) => wanted.has(one) || isAddressGone(one))) kept.add(seat);
  }

  function isAddressGone(seat: string): boolean {
    const reasons = market.reasons().filter((reason) => reason.seat === seat);
    const lastMs = Math.max(...reasons.map(({ untilMs }) => untilMs ?? clockwork.nowMs()));
    const isForgotten = fleet.forgottenPeople().some(({ trainer }) => seat.endsWith(`/${emailOf(trainer)}`));
    return isForgotten || (plan.isQuiet && clockwork.nowMs() - lastMs > keptAtLeastMs);
  }

  /** Sends an event about another customer's contract as if it were the malicious customer's own. */
  async function forge(type: string, which: number, other: number): Promise<void> {
    const victim = pick(
      market.contracts.filter(({ job }) => job.customer !== harm.customer),
      which,
    );
    if (victim === undefined) return;
    const trainer = victim.people[0] ?? 't1';
    const isTrue = other < 0.5;
    if (!isTrue) forged.add(emailOf(trainer));
    const body = fullEvent({
      type,
      id: String(9_000_000_000 + Math.floor(other * 1e9)),
      createdAt: new Date().toISOString(),
      contract: victim.id,
      trainer,
      workEmail: isTrue ? emailOf(trainer) : harm.address,
      link: victim.job.linkId ?? 'lnk_forged',
      job: victim.job.id,
      project: victim.job.project,
    });
    troubles.note(clockwork.nowMs() + 60 * minuteMs, harm.customer);
    await deliver(harm.customer, body, harm.secret);
  }

  async function deliver(customer: Customer, body: string, secret: string): Promise<void> {
    const seconds = Math.floor(Date.now() / 1000);
    const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    await fleet.deliverTo(customer, body, `t=${seconds},v1=${digest}`);
  }

  /** The seats of people who are in and have been wanted for a while. */
  function listWorking(): string[] {
    const seats = tool.seats();
    const since = clockwork.nowMs() - 10 * minuteMs;
    const standing = market.reasons().filter(({ untilMs, sinceMs }) => untilMs === null && sinceMs < since);
    return standing.map(({ seat }) => seat).filter((seat) => seats.has(seat));
  }

  /** An operator ends a contract by mistake, and notices it later. */
  async function endByHand(contract: Contract, forMin: number): Promise<void> {
    const { id, job } = contract;
    contract.saidEnded = { fromMs: clockwork.nowMs(), untilMs: Number.POSITIVE_INFINITY };
    const status = await fleet.decide(job.customer, id, 'end');
    if (status < 400) await clockwork.wait(forMin * minuteMs);
    while (market.contracts.includes(contract) && status < 400) {
      const answered = await fleet.decide(job.customer, id, 'reopen');
      if (answered !== 0 && answered < 500) break;
      await clockwork.wait(minuteMs);
    }
    contract.saidEnded.untilMs = clockwork.nowMs();
  }

  return {
    hire({ customer, which, other }) {
      const job = pick(market.jobsOf(customer), which);
      if (job !== undefined) market.hire(job, anyone(other));
    },
    /** Several contracts at once for one job. */
    crew({ customer, which, other }) {
      const job = pick(market.jobsOf(customer), which);
      const from = Math.floor(other * people.length);
      if (job === undefined) return;
      for (const trainer of [...people, ...people].slice(from, from + crewSize)) market.hire(job, trainer);
    },
    /** Two people on one contract. */
    pair({ customer, which, other }) {
      const job = pick(market.jobsOf(customer), which);
      // A contract of an employer's own account has one trainer.
      if (job === undefined || customer === 'own') return;
      const at = Math.floor(other * people.length);
      market.hire(job, ...[...people, ...people].slice(at, at + 2));
    },
    /** A contract ends, and its trainer is hired again just as the tool is asked to remove them. */
    async rehire(step) {
      const contract = contractOf(step);
      if (contract === undefined) return;
      market.end(contract);
      const [first = ''] = contract.people;
      await Promise.race([tool.called(emailOf(first)), clockwork.wait(30 * minuteMs)]);
      market.hire(contract.job, ...contract.people);
    },
    end(step) {
      const contract = contractOf(step);
      if (contract !== undefined) market.end(contract);
    },
    renew(step) {
      const contract = contractOf(step);
      if (contract === undefined) return;
      market.hire(contract.job, ...contract.people);
      market.end(contract);
    },
    renew_unheard(step) {
      const contract = contractOf(step);
      if (contract === undefined) return;
      troubles.unheard(step.customer, () => market.hire(contract.job, ...contract.people));
      market.end(contract);
    },
    /** In or out only for some seconds, while the first call may still be in progress. */
    async briefly({ customer, which, other }) {
      const contract = pick(market.contractsOf(customer), which);
      const job = contract?.job ?? pick(market.jobsOf(customer), which);
      if (job === undefined) return;
      const trainers = contract?.people ?? [anyone(other)];
      if (contract === undefined) market.hire(job, ...trainers);
      else market.end(contract);
      await clockwork.wait(other * 20_000);
      const hired = market.contractsOf(customer).at(-1);
      if (contract !== undefined) market.hire(job, ...trainers);
      else if (hired !== undefined) market.end(hired);
    },
    replace(step) {
      const contract = contractOf(step);
      // A contract of an employer's own account always has one trainer.
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
      const downMs = Math.min(forMin, 30) * minuteMs;
      troubles.note(clockwork.nowMs() + downMs);
      // Their operator puts the new token into the configuration, and links their projects again.
      await fleet.restart(downMs);
      for (const job of market.jobsOf(customer)) await market.link(job);
    },
    async tool_restored({ forMin, which, other }) {
      const backup = tool.backUp();
      await clockwork.wait(forMin * minuteMs);
      const before = tool.seats();
      const ids = new Map([...before].map((seat) => [seat, tool.idOf(seat)]));
      tool.restore(backup);
      // The new account gets the id of a deleted one.
      const free = [...ids].filter(([, id]) => !tool.isTaken(id));
      const [seat = '', id] = pick(free, which) ?? [];
      const [group = ''] = seat.split('/');
      if (id !== undefined && other < 0.7) tool.putIn(group, `employee-${clockwork.nowMs()}@elsewhere.example`, id);
      noteRestored(before);
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
    async hide({ which }) {
      const seat = pick([...tool.seats()], which);
      if (seat === undefined || !plan.traits.hides || !plan.traits.findsById) return;
      const [group = ''] = seat.split('/');
      const id = tool.idOf(seat);
      if (await fleet.isBound(group, id)) tool.hide(group, id);
    },
    new_address({ which }) {
      const trainer = anyone(which);
      moves += 1;
      const address = `${trainer}.${moves}@opentrain.work`;
      tool.alias(address, emailOf(trainer));
      market.moveTo(trainer, address);
    },
    /** A trainer chooses another address. If the tool cannot find them by id, nothing shows who they are. */
    async own_address({ which }) {
      const seat = pick([...tool.seats()], which);
      if (seat === undefined || !plan.traits.findsById) return;
      const [group = ''] = seat.split('/');
      const id = tool.idOf(seat);
      if (!(await fleet.isBound(group, id))) return;
      moves += 1;
      tool.rename(id, `chosen-${moves}@home.example`);
      for (const one of tool.seats()) if (tool.idOf(one) === id) renamed.add(one);
    },
    fund(step) {
      const contract = contractOf(step);
      if (contract !== undefined) market.fund(contract);
    },
    invite_again: ({ customer }) => fleet.inviteAgain(customer),
    async rotate_token() {
      // A restored database knows only the revoked token, and an operator has to create another.
      if (plan.steps.every(({ kind }) => kind !== 'restored' && kind !== 'database_lost'))
        await fleet.rotateToken('own');
    },
    async hand_adds({ which, other, forMin }) {
      const job = pick(market.jobs, which);
      if (job === undefined) return;
      const trainer = anyone(other);
      const isFree = market.reasons().every(({ seat }) => seat !== `${job.project}/${emailOf(trainer)}`);
      // People with a managed address are Gangway's, whoever added them.
      if (!isFree || plan.isManaged) return tool.putIn(job.project, 'stranger@elsewhere.example');
      tool.putIn(job.project, market.addressOf(trainer));
      await clockwork.wait(forMin * minuteMs);
      market.hire(job, trainer);
    },
    async killed({ forMin, which, other }) {
      const downMs = which < 0.5 ? 0 : forMin * minuteMs;
      const kill = () => {
        troubles.note(clockwork.nowMs() + downMs);
        return fleet.restart(downMs);
      };
      if (other < 0.3) await kill();
      else fuse.arm(Math.floor(other * 30) - 9, kill);
    },
    async second_instance({ forMin }) {
      await fleet.runSecond(forMin * minuteMs);
      // It dies while holding its leases.
      troubles.note();
    },
    async restored({ forMin }) {
      await fleet.restore(forMin * minuteMs);
      troubles.note();
    },
    async database_lost() {
      await fleet.loseDatabase();
      troubles.note();
    },
    /** The tool gets another name at the same address. */
    async tool_renamed() {
      fleet.renameTool();
      await fleet.restart(0);
      troubles.note();
    },
    /** The tool is configured twice. Gangway does not start until one name is removed. */
    async two_names({ forMin }) {
      troubles.note(clockwork.nowMs() + forMin * minuteMs);
      fleet.hasTwoNames = true;
      void clockwork.wait(forMin * minuteMs).then(() => {
        fleet.hasTwoNames = false;
      });
      await fleet.restart(0);
      troubles.note();
    },
    async adopt_found() {
      await fleet.adoptFound();
      troubles.note();
    },
    clock_jumps({ which, forMin }) {
      fleet.setAhead(which < 0.5 ? 0 : Math.min(forMin, 4) * minuteMs);
      troubles.note();
      // Earlier calls have really ended when their leases seem to have.
      return fleet.restart(20_000);
    },
    /** The configuration leaves out a project or a customer for a while. */
    async misconfigured({ customer, which, other, forMin }) {
      const unnamed = other < 0.2 ? customer : (pick(market.jobsOf(customer), which)?.project ?? customer);
      troubles.note(clockwork.nowMs() + forMin * minuteMs, customer);
      fleet.unnamed.add(unnamed);
      await fleet.restart(0);
      await clockwork.wait(forMin * minuteMs);
      fleet.unnamed.delete(unnamed);
      await fleet.restart(0);
      troubles.note();
    },
    /** An old event is delivered again when its first delivery may already be deleted. */
    async told_again({ customer, which }) {
      const told = market.sandbox.listDeliveries().filter(({ installId }) => installId === market.idOf(customer));
      const delivery = pick(told, which);
      if (delivery !== undefined) await deliver(customer, delivery.body, market.secretOf(customer));
    },
    forget: ({ which }) => fleet.forget(anyone(which)),
    async down_for_days({ other }) {
      const downMs = (6 + other * 60) * 60 * minuteMs;
      troubles.note(clockwork.nowMs() + downMs);
      await fleet.restart(downMs);
    },
    forged_end: ({ which, other }) => forge('contract.ended', which, other),
    forged_hire: ({ which, other }) => forge('contract.started', which, other),
    work() {
      for (const seat of listWorking()) tool.workOn(seat, 60 + Math.floor(clockwork.random() * 3000));
    },
    rework: ({ which, other }) => tool.work.edit(which, 60 + Math.floor(other * 3000)),
    unwork: ({ which }) => tool.work.remove(which),
    mistaken_end(step) {
      const contract = contractOf(step);
      if (contract !== undefined) market.mistakeEnd(contract);
    },
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
    async reject() {
      for (const seat of await fleet.rejectAll()) kept.add(seat);
    },
    async end_by_hand(step) {
      const contract = contractOf(step);
      if (contract !== undefined && contract.saidEnded === null) await endByHand(contract, step.forMin);
    },
    look_again: ({ customer }) => fleet.lookAgain(customer),
    settle_doubts: () => fleet.settleDoubts(),
  };
}

/** The projects to which the malicious customer links their job. */
const foreignProjects = ['acme-1', 'own-2', 'ACME-1', 'acme-1/../acme-2', ' acme-1', 'acme-%31', 'globex-1/../acme-1'];

function pick<T>(from: readonly T[], chance: number): T | undefined {
  return from[Math.floor(chance * from.length)];
}
