import fc from 'fast-check';
import { fullEvent } from './event-bodies.ts';

/** Random sets of events, in random orders, and who belongs where by any of them. */

const types = ['contract.started', 'contract.ended', 'project_link.created', 'project_link.removed'] as const;

interface Happening {
  install: 'acme' | 'globex';
  type: (typeof types)[number];
  contract: 'c1' | 'c2';
  link: 'l1' | 'l2';
  trainer: 't1' | 't2';
}

/** Two installs meet in one project of one tool, and one of them has two links to it. */
const projectOf = {
  acme: { l1: 'signs', l2: 'lamps' },
  globex: { l1: 'signs', l2: 'signs' },
};

const happening: fc.Arbitrary<Happening> = fc.record({
  install: fc.constantFrom('acme', 'globex'),
  // Starts weigh more, so that the other events concern trainers who are there.
  type: fc.constantFrom(...types, 'contract.started', 'contract.started'),
  contract: fc.constantFrom('c1', 'c2'),
  link: fc.constantFrom('l1', 'l2'),
  trainer: fc.constantFrom('t1', 't2'),
});

interface History {
  set: Happening[];
  order: number[];
  batches: number[];
}

/** A set of events; the same shuffled, with some of them again; and how many are taken at once. */
export const history: fc.Arbitrary<History> = fc
  .uniqueArray(happening, { minLength: 1, maxLength: 14, selector: (one) => JSON.stringify(one) })
  .chain((set) =>
    fc.record({
      set: fc.constant(set),
      order: fc.array(fc.nat(set.length - 1), { maxLength: 8 }).chain((again) => {
        const all = [...set.keys(), ...again];
        return fc.shuffledSubarray(all, { minLength: all.length });
      }),
      batches: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
    }),
  );

/** Who belongs where, by reading the set as a person would. */
export function expectWanted(set: Happening[]): string[] {
  const has = (like: Partial<Happening>) =>
    set.some((one) => Object.entries(like).every(([key, value]) => Reflect.get(one, key) === value));
  const isActive = ({ install, contract }: Happening) =>
    has({ install, contract, type: 'contract.started' }) && !has({ install, contract, type: 'contract.ended' });
  const isLive = ({ install, link }: Happening) => !has({ install, link, type: 'project_link.removed' });

  const about = set.filter(({ type }) => type.startsWith('contract.'));
  const wanted = about
    .filter(isActive)
    .filter(isLive)
    .flatMap(({ install, contract, link }) =>
      about
        .filter((other) => other.install === install && other.contract === contract)
        .map(({ trainer }) => `${projectOf[install][link]}/${trainer}`),
    );
  return [...new Set(wanted)].sort();
}

export function toBody({ install, type, contract, link, trainer }: Happening): string {
  return fullEvent({
    type,
    contract,
    link,
    trainer,
    project: projectOf[install][link],
    workEmail: install === 'globex' ? null : `${trainer}@opentrain.work`,
  });
}

export function toBatches<T>(items: T[], sizes: number[]): T[][] {
  const batches: T[][] = [];
  for (let taken = 0; taken < items.length; ) {
    const size = sizes[batches.length % sizes.length] ?? 1;
    batches.push(items.slice(taken, taken + size));
    taken += size;
  }
  return batches;
}
