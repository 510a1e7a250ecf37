import { fullEvent } from '../event-bodies.ts';

/**
 * The truth: two customers with two jobs each, who share two projects of one tool and hire the same
 * two people. What happens here raises events and says which trainers it concerns. It knows nothing of the
 * bridge, and shares no code with it.
 */

export const customerNames = ['acme', 'globex'] as const;
export type CustomerName = (typeof customerNames)[number];
export type Slot = 'a' | 'b';
export type Job = 'j1' | 'j2';

/** What stays as it is beside all that happens, so that no list is ever empty. */
const aside = { slot: 'o', job: 'j0', trainer: 't0' } as const;
const projectOf = { a: 'signs', b: 'lamps', o: 'else' };
export const projects = Object.values(projectOf);

export interface Link {
  id: string;
  job: string;
  project: string;
  mode: string;
  madeAtMs: number;
  /** Since when the marketplace provisions it itself, although it did not when it was made. */
  managedAtMs?: number;
}

export interface Contract {
  id: string;
  slot: string;
  job: string;
  /** Under which job it has been listed since when. */
  jobSinceMs: number;
  status: 'active' | 'ended';
  /** Since when who is on it. */
  people: Map<string, number>;
}

export interface Customer {
  name: CustomerName;
  organization: string;
  grant: number;
  grantSinceMs: number;
  isActive: boolean;
  links: Link[];
  contracts: Contract[];
}

export interface Raised {
  body: string;
  type: string;
  createdAtMs: number;
  /** What it names, of which the bridge knows when it came in. */
  names: { link?: string; contract?: string; trainer?: string };
  /** Nothing else would ever tell: it comes in at least once. */
  isVital: boolean;
}

/** Why no trainer is there any more by a reason that was one before. */
export type Ending = 'contract_ended' | 'link_removed' | 'left' | 'disconnected' | 'reconnected' | 'managed' | 'moved';

export interface Happened {
  raised: Raised[];
  ending: Ending;
}

interface Wish {
  slot: Slot;
  job: Job;
  people: readonly string[];
}

export type Market = ReturnType<typeof createMarket>;

/** @param run tells the ids of one market from those of another */
export function createMarket(run: string, beginMs: number) {
  const counts = { link: 0, contract: 0, event: 0, email: 0 };
  const emails = new Map<string, string>();
  const customers = new Map(customerNames.map((name) => [name, begin(name)] as [CustomerName, Customer]));

  function begin(name: CustomerName): Customer {
    const customer: Customer = {
      name,
      organization: `org-${name}${run}`,
      grant: 1,
      grantSinceMs: beginMs,
      isActive: true,
      links: [],
      contracts: [],
    };
    addLink(customer, { slot: 'a', job: 'j1' }, beginMs);
    addLink(customer, { slot: 'b', job: 'j2' }, beginMs);
    addLink(customer, aside, beginMs);
    addContract(customer, aside.slot, aside.job, [aside.trainer], beginMs);
    return customer;
  }

  function addLink(
    { links }: Customer,
    { slot, job, mode = 'PARTNER_WEBHOOK' }: { slot: Slot | 'o'; job: string; mode?: string },
    madeAtMs: number,
  ): Link {
    counts.link += 1;
    const id = `l${counts.link}${run}`;
    const link = { id, job, mode, madeAtMs, project: projectOf[slot] + run };
    links.push(link);
    return link;
  }

  function addContract(
    { contracts }: Customer,
    slot: string,
    job: string,
    people: readonly string[],
    atMs: number,
  ): Contract {
    counts.contract += 1;
    const contract: Contract = {
      id: `c${counts.contract}${run}`,
      slot,
      job,
      jobSinceMs: atMs,
      status: 'active',
      people: new Map(people.map((trainer) => [trainer + run, atMs])),
    };
    contracts.push(contract);
    return contract;
  }

  function emailOf(trainer: string): string {
    return emails.get(trainer) ?? `${trainer}@opentrain.work`;
  }

  function raise(type: string, atMs: number, link: Link, contract?: Contract, trainer?: string): Raised {
    counts.event += 1;
    const body = fullEvent({
      type,
      id: String(counts.event),
      createdAt: new Date(atMs).toISOString(),
      link: link.id,
      project: link.project,
      job: link.job,
      provisioningMode: link.mode,
      ...(contract && { contract: contract.id }),
      ...(trainer && { trainer, workEmail: emailOf(trainer) }),
    });
    const names = {
      link: link.id,
      ...(contract && { contract: contract.id }),
      ...(trainer && { trainer }),
    };
    return { body, type, createdAtMs: atMs, names, isVital: false };
  }

  /** One event per link on the job, and per person on the contract. */
  function raiseOnLinks(type: string, atMs: number, { links }: Customer, contract: Contract) {
    return links
      .filter(({ job }) => job === contract.job)
      .flatMap((link) => [...contract.people.keys()].map((trainer) => raise(type, atMs, link, contract, trainer)));
  }

  const activeIn = ({ contracts }: Customer, slot: Slot) =>
    contracts.find((one) => one.slot === slot && one.status === 'active');
  const linkIn = ({ links }: Customer, slot: Slot) => links.find(({ project }) => project === projectOf[slot] + run);

  function unlink(customer: Customer, slot: Slot, atMs: number): Raised[] {
    const old = linkIn(customer, slot);
    if (old === undefined) return [];
    customer.links = customer.links.filter((link) => link !== old);
    return [raise('project_link.removed', atMs, old)];
  }

  function disconnect(customer: Customer, atMs: number): Raised[] {
    const { name, grant, isActive } = customer;
    const at = new Date(atMs).toISOString();
    const resourceId = grantIdOf(name, grant, run);
    const body = JSON.stringify({ type: 'install.revoked', createdAt: at, resourceId });
    const event = { body, type: 'install.revoked', createdAtMs: atMs, names: {}, isVital: true };
    // What was linked belongs to the old grant, and no event tells that it is gone.
    customer.links = [];
    customer.isActive = false;
    return isActive ? [event] : [];
  }

  /** The next contract of the same people begins just before this one ends. */
  function renew(customer: Customer, { slot }: Wish, atMs: number): Raised[] {
    const before = activeIn(customer, slot);
    if (before === undefined) return [];
    const people = [...before.people.keys()].map((id) => id.slice(0, id.length - run.length));
    const next = addContract(customer, slot, before.job, people, atMs);
    before.status = 'ended';
    return [
      ...raiseOnLinks('contract.started', atMs, customer, next),
      ...raiseOnLinks('contract.ended', atMs, customer, before),
    ];
  }

  const acts = {
    hire(customer: Customer, { slot, people }: Wish, atMs: number): Raised[] {
      if (activeIn(customer, slot) !== undefined) return [];
      const begun = addContract(customer, slot, slot === 'a' ? 'j1' : 'j2', people, atMs);
      return raiseOnLinks('contract.started', atMs, customer, begun);
    },
    end(customer: Customer, { slot }: Pick<Wish, 'slot'>, atMs: number): Raised[] {
      const contract = activeIn(customer, slot);
      if (contract === undefined) return [];
      contract.status = 'ended';
      return raiseOnLinks('contract.ended', atMs, customer, contract);
    },
    renew,
    renew_partly_lost: renew,
    mistaken_end(customer: Customer, { slot }: Wish, atMs: number): Raised[] {
      const contract = activeIn(customer, slot);
      return contract ? raiseOnLinks('contract.ended', atMs, customer, contract) : [];
    },
    staff(customer: Customer, { slot, people }: Wish, atMs: number): Raised[] {
      const contract = activeIn(customer, slot);
      if (contract === undefined) return [];
      const { people: before } = contract;
      contract.people = new Map(people.map((one) => [one + run, before.get(one + run) ?? atMs]));
      return [];
    },
    move(customer: Customer, { slot, job }: Wish, atMs: number): Raised[] {
      const contract = activeIn(customer, slot);
      if (contract === undefined || contract.job === job) return [];
      Object.assign(contract, { job, jobSinceMs: atMs });
      return [];
    },
    unlink: (customer: Customer, { slot }: Wish, atMs: number) => unlink(customer, slot, atMs),
    unlink_for_a_while: (customer: Customer, { slot }: Wish, atMs: number) => unlink(customer, slot, atMs),
    link(customer: Customer, { slot, job }: Pick<Wish, 'slot' | 'job'>, atMs: number): Raised[] {
      if (linkIn(customer, slot) !== undefined) return [];
      return [raise('project_link.created', atMs, addLink(customer, { slot, job }, atMs))];
    },
    repoint(customer: Customer, { slot, job }: Wish, atMs: number): Raised[] {
      const removed = unlink(customer, slot, atMs);
      return [...removed, ...acts.link(customer, { slot, job }, atMs)];
    },
    /** A mode that is not known gives no trainer access. */
    link_in_strange_mode(customer: Customer, { slot, job }: Wish, atMs: number): Raised[] {
      const removed = unlink(customer, slot, atMs);
      const link = addLink(customer, { slot, job, mode: 'CUSTOM_MODE' }, atMs);
      return [...removed, raise('project_link.created', atMs, link)];
    },
    /** From now on the marketplace provisions the project itself; no event tells. */
    manage(customer: Customer, { slot }: Wish, atMs: number): Raised[] {
      const link = linkIn(customer, slot);
      if (link !== undefined) Object.assign(link, { mode: 'MANAGED_ADAPTER', managedAtMs: atMs });
      return [];
    },
    disconnect: (customer: Customer, _: Wish, atMs: number) => disconnect(customer, atMs),
    reconnect(customer: Customer, _: Wish, atMs: number): Raised[] {
      const revoked = disconnect(customer, atMs);
      const grant = customer.grant + 1;
      Object.assign(customer, { isActive: true, grant, grantSinceMs: atMs });
      addLink(customer, aside, atMs);
      return revoked;
    },
    /** Their address is one everywhere. */
    change_address(_: Customer, { people }: Wish): Raised[] {
      counts.email += 1;
      const trainer = `${people[0]}`;
      emails.set(trainer + run, `${trainer}.${counts.email}${run}@opentrain.work`);
      return [];
    },
  };

  const endings: Partial<Record<keyof typeof acts, Ending>> = {
    unlink: 'link_removed',
    unlink_for_a_while: 'link_removed',
    repoint: 'link_removed',
    link_in_strange_mode: 'link_removed',
    disconnect: 'disconnected',
    reconnect: 'reconnected',
    staff: 'left',
    manage: 'managed',
    move: 'moved',
  };

  return {
    run,
    customers,
    emailOf,
    grantIdOf: ({ name, grant }: Customer) => grantIdOf(name, grant, run),
    of(name: CustomerName): Customer {
      const customer = customers.get(name);
      if (customer === undefined) throw new Error(`no customer ${name}`);
      return customer;
    },
    /** Makes it so where it can be, and says what the marketplace raises for it. */
    happen(kind: keyof typeof acts, name: CustomerName, wish: Wish, atMs: number): Happened {
      const customer = this.of(name);
      const ending = endings[kind] ?? 'contract_ended';
      const isPossible = customer.isActive || kind === 'reconnect';
      return { ending, raised: isPossible ? acts[kind](customer, wish, atMs) : [] };
    },
  };
}

export type Happening = Parameters<Market['happen']>[0];

function grantIdOf(name: string, grant: number, run: string): string {
  return `g-${name}-${grant}${run}`;
}
