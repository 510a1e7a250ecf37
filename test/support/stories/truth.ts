import { keptForMin } from './bounds.ts';
import type { Heard } from './heard.ts';
import type { Contract, Customer, CustomerName, Ending, Link, Market } from './market.ts';

/**
 * Who had which reason to be in which group, from when until when: taken from the market itself and
 * from nothing that the bridge believes.
 */
export interface Reason {
  /** `project/trainer`. */
  seat: string;
  customer: CustomerName;
  contract: string;
  link: string;
  trainer: string;
  fromMs: number;
  /** Since when contract and link belong together, and the trainer is on the contract. */
  pairedMs: number;
  joinedMs: number;
  linkedMs: number;
  /** Null while it stands. */
  untilMs: number | null;
  ending: Ending | null;
}

export interface Truth {
  /** Takes over what is so now. */
  note(atMs: number, ending: Ending): void;
  all(): readonly Reason[];
  of(seat: string): readonly Reason[];
  standing(seat: string): Reason[];
  seats(): string[];
  /** Whether a trainer may not be taken out by the end of this reason, or has it. */
  protects(reason: Reason, nowMs: number): boolean;
}

const minute = 60_000;

export function createTruth(market: Market): Truth {
  const reasons = new Map<string, Reason[]>();
  const standing = new Map<string, Reason>();
  const seats = new Map<string, Reason[]>();

  function note(atMs: number, ending: Ending): void {
    const current = new Map(
      [...market.customers.values()].flatMap((customer) =>
        reasonsIn(customer, atMs).map((reason) => [keyOf(reason), reason] as const),
      ),
    );
    for (const [key, reason] of standing) {
      if (current.has(key)) continue;
      Object.assign(reason, { untilMs: atMs, ending });
      standing.delete(key);
    }
    for (const [key, reason] of current) {
      if (standing.has(key)) continue;
      standing.set(key, reason);
      reasons.set(key, [...(reasons.get(key) ?? []), reason]);
      seats.set(reason.seat, [...(seats.get(reason.seat) ?? []), reason]);
    }
  }

  const of = (seat: string) => seats.get(seat) ?? [];
  /** Of the links that a contract had to one project, the last one counts. */
  const isSucceeded = ({ seat, customer, contract, link }: Reason, untilMs: number) =>
    of(seat).some(
      (other) =>
        other.customer === customer && other.contract === contract && other.link !== link && other.fromMs >= untilMs,
    );
  return {
    note,
    of,
    all: () => [...reasons.values()].flat(),
    standing: (seat) => of(seat).filter(({ untilMs }) => untilMs === null),
    seats: () => [...seats.keys()],
    protects(reason, nowMs) {
      const { untilMs, ending, contract, customer, trainer, link } = reason;
      if (untilMs === null || ending === null) return true;
      const { contracts, links, isActive } = market.of(customer);
      const found = contracts.find(({ id }) => id === contract);
      const isHired = found?.status === 'active' && (ending === 'left' || found.people.has(trainer));
      if (!isHired || isSucceeded(reason, untilMs)) return false;
      // What the marketplace provisions itself, it provisions for as long as the link is there.
      if (ending === 'managed') return isActive && links.some(({ id }) => id === link);
      return nowMs < untilMs + keptForMin[ending] * minute;
    },
  };
}

function reasonsIn({ name, links, contracts }: Customer, atMs: number): Reason[] {
  const active = contracts.filter(({ status }) => status === 'active');
  return links
    .filter(({ mode }) => mode === 'PARTNER_WEBHOOK')
    .flatMap((link) =>
      active.filter(({ job }) => job === link.job).flatMap((contract) => reasonsOf(name, contract, link, atMs)),
    );
}

function reasonsOf(
  customer: CustomerName,
  { id: contract, people, jobSinceMs }: Contract,
  { id: link, project, madeAtMs }: Link,
  atMs: number,
): Reason[] {
  return [...people].map(([trainer, joinedMs]) => ({
    seat: `${project}/${trainer}`,
    customer,
    contract,
    link,
    trainer,
    fromMs: atMs,
    pairedMs: Math.max(jobSinceMs, madeAtMs),
    joinedMs,
    linkedMs: madeAtMs,
    untilMs: null,
    ending: null,
  }));
}

function keyOf({ customer, contract, link, trainer }: Reason): string {
  return `${customer}/${contract}/${link}/${trainer}`;
}

/** Whether the bridge has heard of a reason, by an event or by a reading. */
export function isHeard(heard: Heard, reason: Reason, nowMs: number): boolean {
  const { contract, link, trainer, pairedMs, joinedMs } = reason;
  return (
    heard.knows(`pair ${contract} ${link}`, pairedMs, nowMs) &&
    heard.knows(`on ${contract} ${trainer}`, joinedMs, nowMs)
  );
}
