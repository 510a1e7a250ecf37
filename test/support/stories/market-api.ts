import { AppError } from '../../../src/domain/errors.ts';
import type { Source, SourceReader } from '../../../src/sources/source.ts';
import type { Heard } from './heard.ts';
import type { Contract, Customer, CustomerName, Link, Market } from './market.ts';

/** What the marketplace answers, in all weathers, and what the bridge knows by it. */

/** How a customer's part of the marketplace can be read, and until when. */
export interface ReadingWeather {
  refusedUntilMs: number;
  swappedUntilMs: number;
  old: { lagMs: number; untilMs: number };
  /** The lists lack what hangs on this slot. */
  cut: { slot: string; untilMs: number };
}

export function createReadingWeather(): ReadingWeather {
  return { refusedUntilMs: 0, swappedUntilMs: 0, old: { lagMs: 0, untilMs: 0 }, cut: { slot: '', untilMs: 0 } };
}

/** The market as it was, for reads that are old. */
export interface Archive {
  keep(atMs: number): void;
  asOf(name: CustomerName, atMs: number): Customer;
}

export function createArchive(market: Market): Archive {
  const kept: { atMs: number; customers: ReadonlyMap<CustomerName, Customer> }[] = [];
  return {
    keep: (atMs) => void kept.push({ atMs, customers: structuredClone(market.customers) }),
    asOf(name, atMs) {
      const then = kept.findLast((one) => one.atMs <= atMs) ?? kept[0];
      const customer = then?.customers.get(name);
      if (customer === undefined) throw new Error(`nothing is known of ${name}`);
      return customer;
    },
  };
}

export interface ApiParts {
  market: Market;
  archive: Archive;
  heard: Heard;
  weather(name: CustomerName): ReadingWeather;
  isEndedCutOff: boolean;
  nowMs(): number;
  log(text: string): void;
}

export interface MarketApi extends SourceReader, Pick<Source, 'clockDriftMs'> {
  /** Which token is configured for the install by now. */
  token(): string;
}

export function createMarketApi(parts: ApiParts, name: CustomerName): MarketApi {
  const { heard, nowMs } = parts;
  const look = () => lookAt(parts, name);

  function noteContracts(contracts: readonly ReturnType<typeof toContract>[], asOfMs: number) {
    for (const { id, status, projectLinkIds } of contracts) {
      if (status === 'active') heard.note(`active ${id}`, asOfMs, nowMs());
      for (const link of projectLinkIds) heard.note(`pair ${id} ${link}`, asOfMs, nowMs());
    }
  }

  return {
    token: () => (nowMs() < parts.weather(name).swappedUntilMs ? "another's" : 'its own'),
    clockDriftMs: () => undefined,
    async readGrant() {
      const { customer, asOfMs, isSwapped } = look();
      const seen = isSwapped ? `with the token of ${customer.name}` : `as of ${clockOf(asOfMs)}`;
      parts.log(`${name} is read ${seen}`);
      return {
        id: parts.market.grantIdOf(customer),
        status: 'ACTIVE',
        organizationId: customer.organization,
        partnerApp: { id: 'app' },
      };
    },
    async listLinks() {
      const { customer, asOfMs, isSwapped, cutProject } = look();
      if (!isSwapped) heard.note(`links ${name}`, asOfMs, nowMs());
      const shown = customer.links.filter(({ project }) => !project.startsWith(cutProject));
      return shown.map(toLink);
    },
    async readLink(id) {
      return toLink(orUnknown(look().customer.links.find((link) => link.id === id)));
    },
    async listContracts({ status, projectLinkId }) {
      const seen = look();
      if (status === 'ended' && parts.isEndedCutOff) return { contracts: [], isComplete: false };
      const contracts = linkedIn(seen.customer)
        .filter((one) => one.status === status && one.slot !== seen.cutSlot)
        .map((one) => toContract(one, seen.customer))
        .filter(({ projectLinkIds: ids }) => !projectLinkId || ids.includes(projectLinkId));
      if (!seen.isSwapped) noteContracts(contracts, seen.asOfMs);
      return { contracts, isComplete: true };
    },
    async listParticipants(id) {
      const { customer, asOfMs, isSwapped } = look();
      const { people } = orUnknown(linkedIn(customer).find((contract) => contract.id === id));
      if (!isSwapped) heard.note(`asked ${id}`, asOfMs, nowMs());
      return [...people.keys()].map((trainer) => {
        if (!isSwapped) heard.note(`on ${id} ${trainer}`, asOfMs, nowMs());
        const workEmail = parts.market.emailOf(trainer);
        return { opentrainUserId: trainer, displayName: trainer, workEmail };
      });
    },
  };
}

const projectBySlot: Record<string, string> = { a: 'signs', b: 'lamps' };

function lookAt({ market, archive, weather, nowMs, log }: ApiParts, name: CustomerName) {
  const { refusedUntilMs, swappedUntilMs, old, cut } = weather(name);
  const now = nowMs();
  const { isActive, grantSinceMs } = market.of(name);
  if (!isActive || now < refusedUntilMs) {
    log(`${name} cannot be read`);
    throw new AppError('unauthenticated', 'The token is refused');
  }
  const isSwapped = now < swappedUntilMs;
  // Nothing that is older than a token is ever answered to it.
  const asOfMs = now < old.untilMs ? Math.max(now - old.lagMs, grantSinceMs) : now;
  const other = name === 'acme' ? 'globex' : 'acme';
  const cutSlot = now < cut.untilMs ? cut.slot : '-';
  const customer = archive.asOf(isSwapped ? other : name, asOfMs);
  if (isSwapped && !market.of(other).isActive) {
    throw new AppError('unauthenticated', 'The token is refused');
  }
  return { customer, asOfMs, isSwapped, cutSlot, cutProject: projectBySlot[cutSlot] ?? '-' };
}

function linkedIn({ contracts, links }: Customer): Contract[] {
  return contracts.filter(({ job }) => links.some((link) => link.job === job));
}

function toLink({ id, project, mode, job }: Link) {
  return { id, externalProjectId: project, externalProjectName: null, provisioningMode: mode, jobId: job };
}

function toContract({ id, status, job }: Contract, { links }: Customer) {
  const projectLinkIds = links.filter((link) => link.job === job).map((link) => link.id);
  return { id, status, title: null, jobId: job, projectLinkIds };
}

function orUnknown<T>(found: T | undefined): T {
  if (found === undefined) throw new AppError('not_found', 'There is none');
  return found;
}

export function clockOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}
