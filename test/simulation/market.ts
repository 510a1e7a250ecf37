import { employerEventTypes, platformEventTypes } from '../../src/domain/event.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { clockwork } from './clockwork.ts';
import { type Customer, customers } from './plan.ts';

/** The marketplace with its customers, and the truth about who belongs where. */
export interface Market {
  readonly sandbox: Sandbox;
  readonly addresses: { url: string; baseUrl: string; employerBaseUrl: string };
  readonly jobs: readonly Job[];
  readonly contracts: readonly Contract[];
  /** Why people belong or belonged somewhere. */
  reasons(): Reason[];
  jobsOf(customer: Customer): Job[];
  contractsOf(customer: Customer): Contract[];
  idOf(customer: Customer): string;
  tokenOf(customer: Customer): string;
  /** The token that Gangway is configured with. */
  bridgeTokenOf(customer: Customer): string;
  /** The secret of the webhook that delivers to Gangway. */
  secretOf(customer: Customer): string;
  /** Hires one or more trainers on one contract. */
  hire(job: Job, ...trainers: string[]): void;
  end(contract: Contract): void;
  replace(contract: Contract, joins: string): void;
  /** A trainer's current address. */
  addressOf(trainer: string): string;
  /** Funds a contract. */
  fund(contract: Contract): void;
  /** The marketplace gives somebody a new address. There is no event for it. */
  moveTo(trainer: string, address: string): void;
  /** Reports an end that did not happen. */
  mistakeEnd(contract: Contract): void;
  link(job: Job): Promise<void>;
  unlink(job: Job): Promise<void>;
  /** The customer disconnects and reconnects, without their links and with a new webhook. */
  reconnect(customer: Customer): Promise<void>;
  call<T>(customer: Customer, method: string, path: string, body?: object): Promise<T | null>;
}

/** Why a person belongs in a project. */
export interface Reason {
  customer: Customer;
  contractId: string;
  /** `project/address` */
  seat: string;
  sinceMs: number;
  /** `linked`: their job was linked. `joined`: they were added to a contract that was known without them. */
  beginning: 'hired' | 'joined' | 'linked';
  /** Null while it holds. */
  untilMs: number | null;
  ending: 'ended' | 'weaker' | null;
}

export interface Job {
  id: string;
  customer: Customer;
  /** The project to which it can be linked. */
  project: string;
  /** Null while it is not linked. An employer's own jobs are linked by their configuration. */
  linkId: string | null;
}

export interface Contract {
  id: string;
  job: Job;
  people: string[];
  /** When it was mistakenly reported as ended; the marketplace does not correct itself. */
  saidEnded: { fromMs: number; untilMs: number } | null;
  /** Whether an answer has left out somebody on it. */
  isLeftOut: boolean;
  /** When it was last funded. */
  fundedMs: number;
}

/** A project of two customers, one of whom is an employer with an own account. */
const sharedProject = 'both-1';

export const people = ['t1', 't2', 't3', 't4', 't5', 't6'];

/** A trainer's first address, by which the simulation identifies them even if it changes. */
export function emailOf(trainer: string): string {
  return `${trainer}@opentrain.work`;
}

/** The marketplace may never answer. */
const timeoutMs = 90_000;

/** @param webhookUrl the address of Gangway's receiver for a customer */
export async function openMarket(seed: number, webhookUrl: (customer: Customer) => string): Promise<Market> {
  const sandbox = createSandbox({ seed: String(seed) });
  const addresses = await sandbox.start();
  const tokens = new Map(customers.map((customer) => [customer, connect(sandbox, customer)]));
  const idOf = (customer: Customer) => tokens.get(customer)?.id ?? '';
  const jobs = customers.flatMap((customer) => makeJobs(sandbox, customer, idOf(customer)));
  const secrets = new Map<Customer, string>();
  const bridgeTokens = new Map<Customer, string>();
  const contracts: Contract[] = [];
  const addressOf = new Map(people.map((trainer) => [trainer, emailOf(trainer)]));
  const toTrainer = (trainer: string) => ({
    opentrainUserId: trainer,
    displayName: trainer,
    workEmail: market.addressOf(trainer),
  });
  const past: Reason[] = [];
  const standing = new Map<string, Reason>();

  function listPresent(): Map<string, Pick<Reason, 'customer' | 'contractId' | 'seat'>> {
    const linked = contracts.filter(({ job }) => job.linkId !== null);
    return new Map(
      linked.flatMap(({ id, job: { customer, project, linkId }, people: hired }) =>
        hired.map((trainer) => {
          const seat = `${project}/${emailOf(trainer)}`;
          return [`${id} ${linkId} ${seat}`, { customer, contractId: id, seat }] as const;
        }),
      ),
    );
  }

  function settle(ending: Reason['ending'], beginning: Reason['beginning'] = 'hired'): void {
    const now = clockwork.nowMs();
    const present = listPresent();
    for (const [key, reason] of [...standing].filter(([name]) => !present.has(name))) {
      standing.delete(key);
      past.push({ ...reason, untilMs: now, ending });
    }
    for (const [key, reason] of [...present].filter(([name]) => !standing.has(name))) {
      standing.set(key, { ...reason, beginning, sinceMs: now, untilMs: null, ending: null });
    }
  }

  /** Asks the sandbox itself, because an answer may be lost. */
  function findLink({ id, customer, project }: Job): string | null {
    const links = sandbox.snapshot().projectLinks.filter(({ installId }) => installId === idOf(customer));
    return links.find((link) => link.jobId === id && link.externalProjectId === project)?.id ?? null;
  }

  async function subscribe(customer: Customer): Promise<void> {
    const [path, eventTypes] =
      customer === 'own' ? ['/webhooks', employerEventTypes] : ['/webhook-endpoints', platformEventTypes];
    const wanted = { url: webhookUrl(customer), eventTypes };
    for (;;) {
      const made = await market.call<{ secret: string }>(customer, 'POST', path, wanted);
      if (made !== null) return void secrets.set(customer, made.secret);
      await clockwork.wait(60_000);
    }
  }

  const market: Market = {
    sandbox,
    addresses,
    jobs,
    contracts,
    reasons: () => [...standing.values(), ...past],
    jobsOf: (customer) => jobs.filter((job) => job.customer === customer),
    contractsOf: (customer) => contracts.filter(({ job }) => job.customer === customer),
    idOf,
    tokenOf: (customer) => tokens.get(customer)?.token ?? '',
    bridgeTokenOf: (customer) => bridgeTokens.get(customer) ?? market.tokenOf(customer),
    addressOf: (trainer) => addressOf.get(trainer) ?? emailOf(trainer),
    secretOf: (customer) => secrets.get(customer) ?? '',
    hire(job, ...trainers) {
      const { contractId } = sandbox.hire({ jobId: job.id, trainers: trainers.map(toTrainer) });
      contracts.push({ id: contractId, job, people: trainers, saidEnded: null, isLeftOut: false, fundedMs: 0 });
      settle('ended');
    },
    end(contract) {
      sandbox.endContract(contract.id);
      contracts.splice(contracts.indexOf(contract), 1);
      settle('ended');
    },
    replace(contract, joins) {
      const [leaves = '', ...others] = contract.people;
      if (contract.people.includes(joins)) return;
      sandbox.replaceParticipant(contract.id, { leaves, joins: toTrainer(joins) });
      contract.people = [...others, joins];
      settle('weaker', 'joined');
    },
    fund(contract) {
      sandbox.fundMilestone(contract.id, { volume: 1 });
      contract.fundedMs = clockwork.nowMs();
    },
    moveTo(trainer, address) {
      addressOf.set(trainer, address);
      const isKnown = contracts.some(({ people: hired }) => hired.includes(trainer));
      if (isKnown) sandbox.setWorkEmail(trainer, { workEmail: address });
    },
    mistakeEnd(contract) {
      sandbox.raiseMistakenEnd(contract.id);
      const now = clockwork.nowMs();
      contract.saidEnded = { fromMs: now, untilMs: now };
    },
    async link(job) {
      const wanted = { externalProjectId: job.project, jobId: job.id };
      await market.call(job.customer, 'POST', '/project-links', wanted);
      job.linkId = findLink(job);
      settle('weaker', 'linked');
    },
    async unlink(job) {
      if (job.linkId === null) return;
      await market.call(job.customer, 'DELETE', `/project-links/${job.linkId}`);
      job.linkId = findLink(job);
      settle('weaker');
    },
    async reconnect(customer) {
      const { installId, token } = sandbox.reconnect(idOf(customer));
      tokens.set(customer, { id: installId, token });
      for (const job of market.jobsOf(customer)) job.linkId = null;
      settle('weaker');
      await subscribe(customer);
    },
    async call<T>(customer: Customer, method: string, path: string, body?: object): Promise<T | null> {
      const base = customer === 'own' ? addresses.employerBaseUrl : addresses.baseUrl;
      const headers = { authorization: `Bearer ${market.tokenOf(customer)}`, 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(timeoutMs);
      const wanted = { method, headers, signal, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(`${base}${path}`, wanted).catch(() => null);
      return response?.ok ? ((await response.json().catch(() => null)) as T | null) : null;
    },
  };
  for (const customer of customers) await subscribe(customer);
  const made = await market.call<{ token: string }>('own', 'POST', '/tokens', { name: 'Gangway' });
  if (made !== null) bridgeTokens.set('own', made.token);
  for (const job of jobs) if (job.customer !== 'own') await market.link(job);
  return market;
}

function connect(sandbox: Sandbox, customer: Customer): { id: string; token: string } {
  if (customer !== 'own') {
    const { installId, token } = sandbox.createInstall();
    return { id: installId, token };
  }
  const { accountId, token } = sandbox.createAccount();
  return { id: accountId, token };
}

function makeJobs(sandbox: Sandbox, customer: Customer, id: string): Job[] {
  const owner = customer === 'own' ? { accountId: id } : { installId: id };
  return [1, 2].map((number) => ({
    id: sandbox.createJob(owner).id,
    customer,
    project: number === 2 && customer !== 'globex' ? sharedProject : `${customer}-${number}`,
    linkId: customer === 'own' ? 'configured' : null,
  }));
}
