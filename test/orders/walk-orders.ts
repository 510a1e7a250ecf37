import type { Evidence } from '../../src/domain/evidence.ts';
import { evidenceOfEvent } from '../../src/evidence/read-delivery.ts';
import { readEvent } from '../../src/inbox/event-schema.ts';
import type { KnownInstall } from '../../src/reconcile/read/read-install.ts';
import { createPureEngine, type PureEngine } from '../support/pure-engine.ts';
import { evidenceOfInstall, readInstall } from '../support/read-whole.ts';
import { type Access, type Arrival, toInstant } from './arrivals.ts';

/**
 * Walks every order of some arrivals. Orders that lead to the same state are continued as one, because an engine's next
 * step depends on its state alone. So all orders are covered, and a shared state is checked once.
 */

/** How the rest of the world behaves, the same in all orders. */
export interface World {
  /**
   * Whether a reading asks with what was known when it happened. Otherwise it asks with what has arrived before it, and
   * what it returns depends on the order.
   */
  asksAsItHappened: boolean;
  /** Whether the tool does at once everything that is due by the latest instant that has arrived; if not, it only adds. */
  isPrompt: boolean;
}

export interface Walk {
  orders: number;
  states: number;
}

/** An engine after some of the arrivals. */
export interface Reached {
  engine: PureEngine;
  order: readonly number[];
  /** What has arrived. */
  arrived: readonly Arrival[];
  /** How many orders lead to it. */
  orders: number;
}

export interface Watch {
  /** After each derivation, before anything is done in the tool. */
  onState(reached: Reached): void;
  /** After all arrivals. */
  onEnd(reached: readonly Reached[]): void;
}

export async function walkOrders(arrivals: readonly Arrival[], world: World, watch: Watch): Promise<Walk> {
  const says = await createSays(arrivals, world);
  let layer: Reached[] = [{ engine: createPureEngine(), order: [], arrived: [], orders: 1 }];
  let states = 0;
  for (const _ of arrivals) {
    const next = new Map<string, Reached>();
    const steps = layer.flatMap((before) => listSteps(before, arrivals));
    for (const { before, index, arrival } of steps) {
      const reached = takeStep(before, index, arrival, await says(arrival, before.engine));
      watch.onState(reached);
      reached.engine.converge(world.isPrompt ? latestOf(reached.arrived) : '');
      addOrders(next, reached);
    }
    layer = [...next.values()];
    states += layer.length;
  }
  watch.onEnd(layer);
  return { states, orders: layer.reduce((sum, { orders }) => sum + orders, 0) };
}

function listSteps(before: Reached, arrivals: readonly Arrival[]) {
  return arrivals.flatMap((arrival, index) => (before.order.includes(index) ? [] : [{ before, index, arrival }]));
}

function takeStep(before: Reached, index: number, arrival: Arrival, said: readonly Evidence[]): Reached {
  const engine = before.engine.fork();
  for (const evidence of said) engine.merge(evidence);
  engine.derive();
  const shown = { ...arrival, shows: arrival.shows.filter((access) => isNamed(access, said)) };
  return { ...before, engine, order: [...before.order, index], arrived: [...before.arrived, shown] };
}

/** Includes what has arrived, because it decides what may still arrive. */
function addOrders(states: Map<string, Reached>, reached: Reached): void {
  const key = `${reached.order.toSorted((a, b) => a - b)} ${reached.engine.print()}`;
  const same = states.get(key);
  if (same === undefined) states.set(key, reached);
  else same.orders += reached.orders;
}

type Says = (arrival: Arrival, engine: PureEngine) => Promise<readonly Evidence[]>;

async function createSays(arrivals: readonly Arrival[], { asksAsItHappened }: World): Promise<Says> {
  const answers = new Map<string, readonly Evidence[]>();
  const says: Says = async (arrival, engine) => {
    const known = arrival.came.by === 'event' ? undefined : engine.known(arrival.install);
    const key = JSON.stringify([arrivals.indexOf(arrival), known]);
    const answer = answers.get(key) ?? (await readArrival(arrival, known));
    answers.set(key, answer);
    return answer;
  };
  if (!asksAsItHappened) return says;
  const engine = createPureEngine();
  const said = new Map<Arrival, readonly Evidence[]>();
  for (const arrival of arrivals) {
    const evidence = await says(arrival, engine);
    said.set(arrival, evidence);
    for (const one of evidence) engine.merge(one);
  }
  return async (arrival) => said.get(arrival) ?? [];
}

/** A reading asks for the participants of only some contracts, and lists may name links that are not listed. */
function isNamed({ contract, link, trainer }: Access, said: readonly Evidence[]): boolean {
  return (
    said.some(({ links }) => links.some(({ linkId, externalProjectId }) => linkId === link && externalProjectId)) &&
    said.some(({ participations }) =>
      participations.some((one) => one.contractId === contract && one.trainerId === trainer),
    )
  );
}

const staleAfterMs = 30 * 24 * 3_600_000;

/** @param known what decides which questions a reading asks */
async function readArrival({ install, atMin, came }: Arrival, known: KnownInstall | undefined): Promise<Evidence[]> {
  if (came.by === 'event') {
    const read = readEvent(Buffer.from(came.body));
    if (read.outcome !== 'event') throw new Error(`not an event: ${came.body}`);
    return [evidenceOfEvent(install, read.event, toInstant(came.receivedMin), staleAfterMs).evidence];
  }
  const { signal } = new AbortController();
  const asked = known ?? { links: new Map(), contracts: new Map() };
  try {
    return evidenceOfInstall(await readInstall(came.source, install, asked, toInstant(atMin), signal), asked);
  } catch {
    // A refused reading says nothing.
    return [];
  }
}

function latestOf(arrived: readonly Arrival[]): string {
  return toInstant(Math.max(...arrived.map(({ atMin }) => atMin)));
}
