import { AppError } from '../../src/domain/errors.ts';
import type { SourceReader } from '../../src/sources/source.ts';
import { fullEvent } from './event-bodies.ts';

/**
 * The truth: two customers with two jobs, two contracts and two links each, who share two projects
 * of one tool and hire the same two people. What happens here raises events, may be read, and says
 * who belongs where at any moment. It knows nothing of the engine.
 */

export const installNames = ['acme', 'globex'] as const;
export type InstallName = (typeof installNames)[number];
export type Slot = 'a' | 'b';
export type Job = 'j1' | 'j2';
/** What stays as it is beside all that happens. */
const aside = { slot: 'o', job: 'j0', people: ['t0'] } as const;

export interface Happening {
  kind: 'start' | 'end' | 'mistaken_end' | 'staff' | 'unlink' | 'link' | 'repoint' | 'revoke' | 'reconnect' | 'read';
  install: InstallName;
  /** Which contract it is about, or by which link. */
  slot: Slot;
  job: Job;
  people: readonly string[];
}

export interface Raised {
  body: string;
  /** Nothing else would ever tell: it comes in at least once. */
  isVital: boolean;
}

interface Link {
  id: string;
  job: string;
  project: string;
}

interface Contract {
  id: string;
  job: string;
  status: 'active' | 'ended';
  people: readonly string[];
}

interface Customer {
  grant: number;
  isActive: boolean;
  links: Map<string, Link>;
  contracts: Map<string, Contract>;
}

export interface SmallMarket {
  /** Makes it so where it can be, and says what the marketplace raises for it. */
  happen(happening: Happening, at: string): Raised[];
  /** What would be read now; what happens later does not show in it. */
  api(install: InstallName): SourceReader;
  /** Everyone who belongs in a group now, as `project/trainer`. */
  roster(): string[];
}

interface MarketOptions {
  /** Whether each customer has other work, so that its list of active contracts is never empty. */
  isBusy: boolean;
  /** Whether lists of ended contracts are longer than what can be read of them. */
  isEndedCutOff: boolean;
  /** Tells the ids of one market from those of another. */
  run?: string;
}

const projectOf = { a: 'signs', b: 'lamps', o: 'else' };

export function createSmallMarket({ isBusy, isEndedCutOff, run = '' }: MarketOptions): SmallMarket {
  const raise = createRaise(run);
  let linked = 0;
  const customers = new Map(
    installNames.map((name) => {
      const customer: Customer = {
        grant: 1,
        isActive: true,
        links: new Map(),
        contracts: new Map(),
      };
      if (isBusy) {
        const { job, people } = aside;
        customer.contracts.set('o', { id: `co${run}`, job, status: 'active', people });
      }
      link(customer, 'a', 'j1');
      link(customer, 'b', 'j2');
      link(customer, aside.slot, aside.job);
      return [name, customer];
    }),
  );

  function link({ links }: Customer, slot: Slot | 'o', job: string): Link {
    linked += 1;
    const created = { id: `l${linked}${run}`, job, project: projectOf[slot] + run };
    links.set(slot, created);
    return created;
  }

  function unlink({ links }: Customer, slot: Slot, at: string): Raised[] {
    const old = links.get(slot);
    links.delete(slot);
    return old === undefined ? [] : raise('project_link.removed', at, old);
  }

  function happenToLink(customer: Customer, { kind, slot, job }: Happening, at: string): Raised[] {
    const isThere = customer.links.has(slot);
    if (kind === 'link' && isThere) return [];
    const removed = kind === 'link' ? [] : unlink(customer, slot, at);
    if (kind === 'unlink') return removed;
    return [...removed, ...raise('project_link.created', at, link(customer, slot, job))];
  }

  function happenToGrant(name: InstallName, customer: Customer, kind: string, at: string): Raised[] {
    const event = {
      type: 'install.revoked',
      createdAt: at,
      resourceId: grantOf(name, customer, run),
    };
    const revoked = customer.isActive ? [{ body: JSON.stringify(event), isVital: true }] : [];
    // What was linked belongs to the old grant, and no event tells that it is gone.
    customer.links.clear();
    customer.isActive = kind === 'reconnect';
    if (!customer.isActive) return revoked;
    customer.grant += 1;
    link(customer, aside.slot, aside.job);
    return revoked;
  }

  return {
    happen(happening, at) {
      const { kind, install } = happening;
      const customer = of(customers, install);
      if (kind === 'reconnect') return happenToGrant(install, customer, kind, at);
      if (!customer.isActive) return [];
      if (kind === 'revoke') return happenToGrant(install, customer, kind, at);
      if (isAboutLink.has(kind)) return happenToLink(customer, happening, at);
      return happenToContract(customer, happening, run, (type, contract) =>
        raiseOnLinks(raise, type, at, customer, contract),
      );
    },
    api: (install) => createApi(structuredClone(of(customers, install)), { isEndedCutOff, run, name: install }),
    roster() {
      const everyone = [...customers.values()].flatMap(({ links, contracts }) =>
        [...links.values()].flatMap(({ job, project }) =>
          [...contracts.values()]
            .filter((contract) => contract.job === job && contract.status === 'active')
            .flatMap(({ people }) => people.map((trainer) => `${project}/${trainer}${run}`)),
        ),
      );
      return [...new Set(everyone)].sort();
    },
  };
}

const isEndReported: ReadonlySet<string> = new Set(['end', 'mistaken_end']);
const isAboutLink: ReadonlySet<string> = new Set(['unlink', 'link', 'repoint']);

function happenToContract(
  { contracts }: Customer,
  { kind, slot, people }: Happening,
  run: string,
  tell: (type: string, contract: Contract) => Raised[],
): Raised[] {
  const contract = contracts.get(slot);
  if (contract === undefined && kind === 'start') {
    const job = slot === 'a' ? 'j1' : 'j2';
    const begun: Contract = { id: `c${slot}${run}`, job, status: 'active', people };
    contracts.set(slot, begun);
    return tell('contract.started', begun);
  }
  if (contract?.status !== 'active') return [];
  if (kind === 'staff') contract.people = people;
  if (kind === 'end') contract.status = 'ended';
  return isEndReported.has(kind) ? tell('contract.ended', contract) : [];
}

type Raise = (type: string, at: string, link: Link, contract?: Contract) => Raised[];

function createRaise(run: string): Raise {
  let raised = 0;
  return (type, at, { id: linkId, project }, contract) => {
    const wish = { type, createdAt: at, link: linkId, project };
    return (contract?.people ?? [null]).map((trainer) => {
      raised += 1;
      const person = trainer === null ? {} : { trainer: trainer + run };
      const about = contract && { contract: contract.id, ...person };
      return { body: fullEvent({ ...wish, ...about, id: String(raised) }), isVital: false };
    });
  };
}

/** One event per link on the job, and per person on the contract. */
function raiseOnLinks(raise: Raise, type: string, at: string, { links }: Customer, contract: Contract): Raised[] {
  const onJob = [...links.values()].filter(({ job }) => job === contract.job);
  return onJob.flatMap((link) => raise(type, at, link, contract));
}

function of(customers: ReadonlyMap<InstallName, Customer>, install: InstallName): Customer {
  const customer = customers.get(install);
  if (customer === undefined) throw new Error(`no such customer: ${install}`);
  return customer;
}

function grantOf(name: InstallName, { grant }: Customer, run: string): string {
  return `${name}-g${grant}${run}`;
}

function createApi(
  customer: Customer,
  { isEndedCutOff, run, name }: { isEndedCutOff: boolean; run: string; name: InstallName },
): SourceReader {
  const links = [...customer.links.values()].map(({ id, project }) => ({
    id,
    externalProjectId: project,
    externalProjectName: null,
    provisioningMode: 'PARTNER_WEBHOOK',
  }));
  const linksOf = ({ job }: Contract) =>
    [...customer.links.values()].filter((link) => link.job === job).map(({ id }) => id);
  const linked = [...customer.contracts.values()].filter((one) => linksOf(one).length > 0);

  /** Every call needs a live grant. */
  const answer = async <T>(give: () => T): Promise<T> => {
    if (!customer.isActive) throw new AppError('unauthenticated', 'the token is refused');
    return give();
  };
  const orUnknown = <T>(found: T | undefined): T => {
    if (found === undefined) throw new AppError('not_found', 'there is none');
    return found;
  };
  return {
    readGrant: () => answer(() => ({ id: grantOf(name, customer, run), status: 'ACTIVE' })),
    listLinks: () => answer(() => [...links]),
    readLink: (id) => answer(() => orUnknown(links.find((link) => link.id === id))),
    listContracts: ({ status, projectLinkId }) =>
      answer(() => {
        if (status === 'ended' && isEndedCutOff) return { contracts: [], isComplete: false };
        const contracts = linked
          .filter((one) => one.status === status)
          .map((one) => ({ id: one.id, status, title: null, projectLinkIds: linksOf(one) }))
          .filter(({ projectLinkIds: ids }) => !projectLinkId || ids.includes(projectLinkId));
        return { contracts, isComplete: true };
      }),
    listParticipants: (id) =>
      answer(() => {
        const { people } = orUnknown(linked.find((contract) => contract.id === id));
        return people.map((trainer) => ({
          opentrainUserId: trainer + run,
          displayName: trainer,
          workEmail: `${trainer}@opentrain.work`,
        }));
      }),
  };
}
