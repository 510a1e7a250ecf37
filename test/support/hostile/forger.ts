import { colluders, honestTrainers, managed, ownProjects } from './cast.ts';
import { type Forged, toForgedBody } from './forged-event.ts';
import * as words from './forged-words.ts';
import { setPieces } from './set-pieces.ts';

/** The hostile customer: what it sends is decided by the seed. */
export interface Forger {
  /** What it sends in one step of the story, in the order it sends it. */
  step(count: number, now: Date): ForgedDelivery[];
  /** As many new people in a moment as there are, and nothing else. */
  flood(count: number, now: Date): ForgedDelivery[];
  /** The end of every contract that it ever spoke of. */
  ends(now: Date): ForgedDelivery[];
}

export interface ForgedDelivery {
  forged: Forged | null;
  body: string;
}

interface Known {
  /** Of accounts that are in the tool from the beginning. */
  accountIds: readonly string[];
  /** The ids of the installs at the marketplace. */
  grants: readonly string[];
}

/** Late, so that much has happened before. */
const firstRevokingStep = 5;

export function createForger(random: () => number, { accountIds, grants }: Known): Forger {
  const pieces = setPieces();
  const planned = new Set(pieces.flat().map(({ contract }) => contract));
  const longest = Math.max(...pieces.map(({ length }) => length));
  const contracts = new Map<string, Forged>();
  const sent: ForgedDelivery[] = [];
  const links = new Map<string, string>();
  let number = 0;
  let step = 0;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const others = [...honestTrainers.map(({ trainerId }) => trainerId), managed.name];
  const strange = [...others, ...accountIds, ...words.oddTrainers];

  function write(forged: Forged, now: Date): ForgedDelivery {
    number += 1;
    const { contract, project = '' } = forged;
    const said = { link: links.get(project) ?? `lnk-${project}`, ...forged };
    if (forged.type === 'project_link.removed') links.set(project, `lnk-${project}-${number}`);
    if (contract !== undefined) contracts.set(contract, { ...contracts.get(contract), ...forged });
    return { forged, body: toForgedBody(said, number, now.toISOString()) };
  }

  /** While the set pieces are played, nothing else is about the same people. */
  const isOpening = () => step < longest;
  const pickAddress = () => pick(isOpening() ? colluders : words.addresses);
  const pickTrainer = () => pick(isOpening() || random() < 0.5 ? words.ownTrainers : strange);
  const known = () => [...contracts.values()].filter((one) => !isOpening() || !planned.has(one.contract));

  function hire(): Forged {
    const old = known();
    const isOld = old.length > 0 && random() < 0.3;
    const trainer = pickTrainer();
    return {
      type: 'contract.started',
      contract: (isOld ? pick(old).contract : undefined) ?? `ctr-x${++number}`,
      trainer,
      email: random() < 0.4 ? words.homeOf(trainer) : pickAddress(),
      project: random() < 0.75 ? pick(ownProjects) : pick(words.edgeProjects),
      name: pick(words.names),
      title: pick(words.names),
    };
  }

  function repeat(changes: Partial<Forged>): Forged {
    return { ...(pick(known()) ?? hire()), ...changes };
  }

  /** What was removed never comes back: whatever is said later is said of another link. */
  function aboutLink(): Forged {
    const project = pick(ownProjects);
    const type = random() < 0.6 ? 'project_link.removed' : 'project_link.created';
    return isOpening() ? hire() : { type, project };
  }

  /** Its own may be among them: from then on little of what it says gives any trainer access. */
  function revoke(): Forged {
    return step < firstRevokingStep ? hire() : { type: 'install.revoked', resourceId: pick(grants) };
  }

  const choices: readonly [weight: number, move: () => Forged][] = [
    [8, hire],
    [4, () => repeat({ type: 'contract.started', email: pickAddress() })],
    [4, () => repeat({ type: 'contract.ended' })],
    [1, () => repeat({ type: 'contract.started', email: null })],
    [1, () => repeat({ type: 'milestone.funded' })],
    [2, aboutLink],
    [1, revoke],
    [1, () => ({ ...hire(), contract: 'ctr-crowd', trainer: `usr-crowd${++number}` })],
    [1, () => ({ ...hire(), contract: `ctr-many${++number}`, trainer: 'usr-many' })],
    [1, () => ({ type: 'something.else', resourceId: 'x' })],
  ];
  const bag = choices.flatMap(([weight, move]) => Array.from({ length: weight }, () => move));

  function next(now: Date): ForgedDelivery {
    if (!isOpening() && sent.length > 0 && random() < 0.1) return pick(sent);
    return write(pick(bag)(), now);
  }

  return {
    step(count, now) {
      const moves = pieces.flatMap((piece) => piece.slice(step, step + 1));
      const deliveries = [
        ...moves.map((forged) => write(forged, now)),
        ...Array.from({ length: count }, () => next(now)),
        write({ ...hire(), fillerBytes: 250_000 }, now),
        { forged: null, body: pick(words.names) },
      ];
      sent.push(...deliveries);
      step += 1;
      return deliveries;
    },
    flood: (count, now) =>
      Array.from({ length: count }, () => {
        const trainer = `usr-flood${++number}`;
        const email = words.homeOf(trainer);
        const contract = `ctr-flood${number}`;
        return write({ type: 'contract.started', contract, trainer, email, project: 'a-3' }, now);
      }),
    ends: (now) => [...contracts.values()].map((known) => write({ ...known, type: 'contract.ended' }, now)),
  };
}
