import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { acmeSecret } from './bridge-process.ts';
import { type ContractEvent, toBody } from './lifecycle-events.ts';
import { createSender } from './sender.ts';

/**
 * A marketplace at work: contracts of a few trainers begin and end, ends sometimes come before
 * beginnings, and what was not answered is sent again; beginnings sometimes never, but ends always:
 * without them all would be in for good after a while.
 */
export interface Traffic {
  /** Every body that was answered with 200. */
  answered: ReadonlySet<string>;
  /** How many requests had no whole answer, or another one. */
  countFailed(): number;
  /** The other answers. */
  refusedWith: ReadonlySet<number>;
  /** Where to send from now on; to several in turn. */
  sendTo(...urls: string[]): void;
  /** Resolves when the last request has ended. */
  stop(): Promise<void>;
}

const connections = 6;
/** Between two requests of one connection: load, but a bounded one. */
const usualPauseMs = 25;
/** With so many, nothing new is sent: else more and more would wait where no bridge answers for most of the time. */
const mostUnanswered = 50;

export function startTraffic(random: () => number, firstUrl: string, { pauseMs = usualPauseMs } = {}): Traffic {
  const sender = createSender(acmeSecret, connections);
  const nextEvent = createEvents(random);
  const answered = new Set<string>();
  const refusedWith = new Set<number>();
  const unanswered: ContractEvent[] = [];
  let urls = [firstUrl];
  let sent = 0;
  let failed = 0;
  let isStopping = false;

  function takeNext(): ContractEvent {
    const isAgain = random() < 0.5 || unanswered.length >= mostUnanswered;
    return (isAgain ? unanswered.shift() : undefined) ?? nextEvent();
  }

  async function sendNext(): Promise<void> {
    const event = takeNext();
    const body = toBody(event);
    const url = urls[sent % urls.length] ?? '';
    sent += 1;
    try {
      const { status } = await sender.send(url, body, `delivery-${body.length}-${random()}`);
      if (status !== 200) {
        refusedWith.add(status);
        throw new Error(`answered ${status}`);
      }
      answered.add(body);
    } catch {
      failed += 1;
      if (random() < 0.7 || event.type === 'contract.ended') unanswered.push(event);
    }
  }

  async function sendUntilStopped(): Promise<void> {
    while (!isStopping) {
      await sendNext();
      await wait(pauseMs);
    }
  }

  const sending = Array.from({ length: connections }, sendUntilStopped);
  const stop = async () => {
    isStopping = true;
    await Promise.all(sending);
  };
  onTestFinished(stop);
  return {
    answered,
    countFailed: () => failed,
    refusedWith,
    sendTo(...next) {
      urls = next;
      sender.forget();
    },
    stop,
  };
}

const trainers = 40;
export const projects = ['street-signs', 'street-lamps', 'bank-notes'];
const mostActive = 60;

/** Events of ever new contracts; few trainers, so that their memberships come and go often. */
function createEvents(random: () => number): () => ContractEvent {
  const active: ContractEvent[] = [];
  const late: ContractEvent[] = [];
  let number = 0;
  const pick = (count: number) => Math.floor(random() * count);

  function begin(): ContractEvent {
    number += 1;
    return {
      type: 'contract.started',
      number,
      contract: `ctr${number}`,
      trainer: `usr${pick(trainers)}`,
      project: projects[pick(projects.length)] ?? '',
      createdAt: new Date().toISOString(),
    };
  }

  function end(started: ContractEvent): ContractEvent {
    number += 1;
    return { ...started, type: 'contract.ended', number, createdAt: new Date().toISOString() };
  }

  return () => {
    const overdue = random() < 0.1 ? late.shift() : undefined;
    if (overdue !== undefined) return overdue;
    const [ending] = random() < active.length / mostActive ? active.splice(pick(active.length), 1) : [];
    if (ending !== undefined) return end(ending);
    const started = begin();
    if (random() < 0.1) {
      late.push(started);
      return end(started);
    }
    active.push(started);
    return started;
  };
}

/** Who belongs in the roster according to the database, without the bridge's own rules. */
export function membersOf(bodies: ReadonlySet<string>): string[] {
  const events = [...bodies].map((body) => JSON.parse(body) as StoredEvent);
  const ended = new Set(events.flatMap(({ type, resourceId }) => (type === 'contract.ended' ? [resourceId] : [])));
  const active = events.filter(({ resourceId }) => !ended.has(resourceId));
  const members = active.map(
    ({ data: { projectLink, freelancer } }) => `${projectLink.externalProjectId}/${freelancer.opentrainUserId}`,
  );
  return [...new Set(members)].sort();
}

interface StoredEvent {
  type: string;
  resourceId: string;
  data: {
    projectLink: { externalProjectId: string };
    freelancer: { opentrainUserId: string };
  };
}
