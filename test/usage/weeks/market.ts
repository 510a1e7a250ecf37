import { AppError } from '../../../src/domain/errors.ts';
import type { Source, UsageEntry } from '../../../src/marketplace/source.ts';
import { type Counts, keyOf, nothing } from './facts.ts';

/**
 * What becomes of a request. `lost`: it never arrives; `late`: it arrives later, and no answer does; `unheard`: it
 * arrives, and the answer is lost; `again`: the first attempt arrives later, and the second is answered; `turned away`:
 * it is refused for a reason that is not its own.
 */
export const fates = ['lost', 'late', 'unheard', 'again', 'turned away', 'broken'] as const;
export type Fate = (typeof fates)[number];

/** The requests about a day of a trainer on a contract. */
export interface Told {
  last: 'answered' | 'refused' | 'unsent' | 'unheard';
  /** When the latest attempt without an answer was made. */
  unheardMs: number | null;
  /** When the latest request that was answered was made. */
  answeredMs: number | null;
}

/** After this time, no request arrives any more. */
const longestMs = 10 * 60_000;

export function isInDoubt(told: Told | undefined): boolean {
  if (told === undefined || told.unheardMs === null) return false;
  return told.answeredMs === null || told.answeredMs < told.unheardMs + longestMs;
}

/** The marketplace, with faults of the network. */
export function createMarket(now: () => number) {
  let underWay: (() => void)[] = [];
  const market = {
    stored: new Map<string, Counts>(),
    told: new Map<string, Told>(),
    /** Contracts, and days of contracts, that it refuses. */
    refused: new Set<string>(),
    fates: [] as Fate[],
    /** Called with the keys of sent days. */
    onSending: (_key: string): void => undefined,
    /** Called with the keys of answered days. */
    onAnswered: (_key: string): void => undefined,
    /** Delivers requests that are on their way, or loses them. */
    arrive(): void {
      for (const one of underWay) one();
      underWay = [];
    },
    source: {} as Source,
  };

  function store(contract: string, entries: readonly UsageEntry[]): void {
    for (const { workDate, workerOpentrainUserId = '', totalSeconds, tasksCompleted, labelsCompleted } of entries) {
      const key = keyOf(contract, workerOpentrainUserId, workDate);
      const has = market.stored.get(key) ?? nothing;
      market.stored.set(key, {
        seconds: totalSeconds ?? has.seconds,
        tasks: tasksCompleted ?? has.tasks,
        labels: labelsCompleted ?? has.labels,
      });
    }
  }

  function tell(contract: string, entries: readonly UsageEntry[], last: Told['last'], isUnheard = false): void {
    for (const { workDate, workerOpentrainUserId = '' } of entries) {
      const key = keyOf(contract, workerOpentrainUserId, workDate);
      const before = market.told.get(key) ?? { unheardMs: null, answeredMs: null };
      const unheardMs = isUnheard ? now() : before.unheardMs;
      const answeredMs = last === 'answered' ? now() : before.answeredMs;
      market.told.set(key, { last, unheardMs, answeredMs });
      if (last === 'answered') market.onAnswered(key);
    }
  }

  /** @throws AppError if the marketplace refuses it */
  function refuse(contract: string, entries: readonly UsageEntry[]): void {
    if (market.refused.has(contract)) {
      tell(contract, entries, 'refused');
      throw new AppError('not_found', 'No such contract', { status: 404 });
    }
    if (!entries.some(({ workDate }) => market.refused.has(`${contract} ${workDate}`))) return;
    tell(contract, entries, entries.length > 1 ? 'unsent' : 'refused');
    throw new AppError('invalid', 'A day is refused', { status: 422 });
  }

  /** @throws AppError if the request does not arrive, or not yet */
  function lose(contract: string, entries: readonly UsageEntry[], fate: Fate | undefined): void {
    if (fate === 'turned away') {
      tell(contract, entries, 'unsent');
      throw new AppError('rate_limited', 'Too many requests', { status: 429 });
    }
    if (fate === 'late') underWay.push(() => store(contract, entries));
    if (fate !== 'lost' && fate !== 'late' && fate !== 'broken') return;
    tell(contract, entries, 'unheard', true);
    throw new AppError('unavailable', 'No answer', fate === 'broken' ? { status: 503 } : {});
  }

  const reportUsage: Source['reportUsage'] = async (contract, entries, _signal, notes) => {
    for (const { workDate, workerOpentrainUserId = '' } of entries) {
      market.onSending(keyOf(contract, workerOpentrainUserId, workDate));
    }
    const fate = market.fates.shift();
    lose(contract, entries, fate);
    refuse(contract, entries);
    store(contract, entries);
    if (fate === 'unheard') {
      tell(contract, entries, 'unheard', true);
      throw new AppError('unavailable', 'No answer');
    }
    if (fate === 'again') {
      underWay.push(() => store(contract, entries));
      notes?.onUnheard?.();
    }
    tell(contract, entries, 'answered', fate === 'again');
    return { contractId: contract, accepted: entries.length, budget: null };
  };
  market.source = { reportUsage } as Source;
  return market;
}
