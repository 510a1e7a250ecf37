import type { PaceSample } from '../../src/converge/throttle.ts';

/** How many people are let in at once: it is asked before each call, and gets its outcome. */
export interface Rule {
  slots(): number;
  report(trip: PaceSample): void;
}

export interface Rush {
  seconds: number;
  /** Who is in, and known to be. */
  isIn: number;
  /** Sign-ups that the server worked through although there was an account. */
  madeAgain: number;
  lateAnswers: number;
}

interface Job {
  person: number;
  kind: 'look' | 'add';
  leftMs: number;
}

interface Client {
  person: number;
  job: Job;
  begunAtMs: number;
  askedAtMs: number;
  isFull: boolean;
}

const stepMs = 50;
const timeoutMs = 15_000;
const longestWaitMs = 300_000;

/**
 * Many people who are let in by a server with a part of a core, in time of its own: it works on all
 * it was asked for at once, also on requests whose sender no longer waits, and each costs more the more
 * there are. What was not answered in time is looked for before it is done again.
 */
export function letIn(people: number, share: number, rule: Rule, withinSeconds: number): Rush {
  const accounts = new Set<number>();
  const isIn = new Set<number>();
  const due = Array.from({ length: people }, (_, person) => ({ person, atMs: 0, tries: 0 }));
  const triesOf = new Map<number, number>();
  let jobs: Job[] = [];
  let clients: Client[] = [];
  let nowMs = 0;
  const rush: Rush = { seconds: 0, isIn: 0, madeAgain: 0, lateAnswers: 0 };
  const costMs = (kind: Job['kind']) => (kind === 'look' ? 0 : 550) + 3 * accounts.size;

  const ask = (person: number, kind: Job['kind']): Job => {
    const job = { person, kind, leftMs: costMs(kind) };
    jobs.push(job);
    return job;
  };

  function work(): Set<Job> {
    const each = (stepMs * share) / Math.max(1, jobs.length);
    for (const job of jobs) job.leftMs -= each;
    const done = new Set(jobs.filter(({ leftMs }) => leftMs <= 0));
    for (const { person, kind } of done) {
      if (kind === 'look') continue;
      if (accounts.has(person)) rush.madeAgain += 1;
      accounts.add(person);
    }
    jobs = jobs.filter((job) => !done.has(job));
    return done;
  }

  function end({ person, begunAtMs, isFull }: Client, isUnanswered: boolean): void {
    rule.report({ begunAtMs, endedAtMs: nowMs, isUnanswered, isFull });
    if (!isUnanswered) {
      isIn.add(person);
      return;
    }
    rush.lateAnswers += 1;
    const tries = (triesOf.get(person) ?? 0) + 1;
    triesOf.set(person, tries);
    due.push({ person, tries, atMs: nowMs + Math.min(500 * 2 ** tries, longestWaitMs) });
  }

  function goOn(client: Client, done: ReadonlySet<Job>): Client[] {
    const { person, job } = client;
    if (!done.has(job)) {
      if (nowMs - client.askedAtMs < timeoutMs) return [client];
      end(client, true);
      return [];
    }
    if (job.kind === 'look' && !accounts.has(person)) {
      return [{ ...client, job: ask(person, 'add'), askedAtMs: nowMs }];
    }
    end(client, false);
    return [];
  }

  function begin(): void {
    for (let free = rule.slots() - clients.length; free > 0; free -= 1) {
      const index = due.findIndex(({ atMs }) => atMs <= nowMs);
      if (index < 0) return;
      const [one] = due.splice(index, 1);
      if (one === undefined) return;
      const { person } = one;
      const [begunAtMs, isFull] = [nowMs, clients.length + 1 >= rule.slots()];
      clients.push({ person, begunAtMs, isFull, askedAtMs: nowMs, job: ask(person, 'look') });
    }
  }

  while (isIn.size < people && nowMs < withinSeconds * 1000) {
    begin();
    nowMs += stepMs;
    const done = work();
    clients = clients.flatMap((client) => goOn(client, done));
  }
  return { ...rush, seconds: nowMs / 1000, isIn: isIn.size };
}
