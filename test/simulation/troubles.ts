import type { WantedFaults } from '../../src/sandbox/faults/faults-schema.ts';
import { clockwork } from './clockwork.ts';
import type { Market } from './market.ts';
import { fairWeather, type ModelTool, type ToolWeather } from './model-tool.ts';
import { type Answer, type Exchange, type Fate, setFates } from './network.ts';
import { type Customer, customers } from './plan.ts';

/** Temporary faults: of the network, the marketplace, the tool and the disk. */
export interface Troubles {
  begin(name: Trouble, customer: Customer, forMin: number): void;
  /** Does something without any event to the customer. */
  unheard(customer: Customer, act: () => void): void;
  /** Records something that takes time to recover from. */
  note(untilMs?: number, customer?: Customer): void;
  /** Ends all faults. */
  endAll(): void;
  /** Since when there were no faults, or none for one customer; in the future while there is one. */
  calmSinceMs(customer?: Customer): number;
  /** Since when the marketplace has answered one customer correctly. */
  readableSinceMs(customer: Customer): number;
  /** The error that a writing statement throws, if any. */
  diskFault(): Error | undefined;
}

/** Not the people on a contract: two such answers are believed, so `answers_miss` leaves somebody out only once. */
const listings = ['GET /contracts', 'GET /project-links', 'GET /webhooks', 'GET /webhook-endpoints', 'GET /updates'];

/** Faults of the events and answers of one customer. */
const faults = {
  events_lost: { lose: 0.5 },
  events_mixed: { repeat: 0.3, reorder: 0.3, corrupt: 0.1, delay: { probability: 0.3, ms: 20 * 60_000 } },
  reads_fail: { serverError: 0.4, notJson: 0.1, cutOff: 0.2, rateLimited: 0.1 },
  reads_refused: { unauthenticated: 0.5, forbidden: 0.5 },
  lists_cut: { truncated: { probability: 0.6, operations: listings } },
  lists_empty: { empty: 0.5 },
  // No fault: only the addresses of these people are not shared.
  consent_withdrawn: {},
} satisfies Record<string, WantedFaults>;

const weathers = {
  tool_down: { isDown: true },
  tool_loses_answers: { losesAnswer: 0.5 },
  tool_is_late: { isLate: 0.4 },
  tool_lies: { lies: 0.3 },
  tool_misses: { misses: 0.3 },
  tool_refuses: { refuses: 0.4 },
  tool_busy: { slowMs: 4000 },
  tool_slow: { slowMs: 20_000 },
} satisfies Record<string, Partial<ToolWeather>>;

const others = [
  'reads_old',
  'answers_miss',
  'marketplace_away',
  'answers_lost',
  'marketplace_slow',
  'marketplace_busy',
  'contracts_missing',
  'cursors_refused',
  'disk_full',
] as const;

export const troubles = [
  ...(Object.keys(faults) as (keyof typeof faults)[]),
  ...(Object.keys(weathers) as (keyof typeof weathers)[]),
  ...others,
] as const;

export type Trouble = (typeof troubles)[number];

/** With these faults the marketplace can still be read in time for a removal that waits for a list. */
const isReadable = (name: Trouble) =>
  name in weathers || name.startsWith('events_') || ['marketplace_busy', 'consent_withdrawn'].includes(name);

const minuteMs = 60_000;
/** How far old answers lag behind. */
export const oldestAnswerMs = 5 * minuteMs;
const answersKept = 20;

export function createTroubles(market: Market, tool: ModelTool): Troubles {
  const untilMs = new Map<string, number>();
  /** By customer; the empty name is for everybody. */
  const calmSince = new Map<Customer | undefined, number>([[undefined, clockwork.nowMs()]]);
  const readableSince = new Map<Customer | undefined, number>();
  const calmSinceMs = (customer?: Customer) =>
    customer === undefined ? Math.max(...calmSince.values()) : latestOf(calmSince, customer);
  const isOn = (name: Trouble, customer?: Customer) =>
    (untilMs.get(customer === undefined ? name : `${name} ${customer}`) ?? 0) > clockwork.nowMs();

  function setAll(): void {
    for (const customer of customers) {
      market.sandbox.setFaults(market.idOf(customer), faultsOf(customer));
      // For an employer's own account, the trainers decide themselves whether their addresses are shared.
      if (customer === 'own') continue;
      market.sandbox.setPiiConsent(market.idOf(customer), !isOn('consent_withdrawn', customer));
    }
    const on = Object.entries(weathers).filter(([name]) => isOn(name as Trouble));
    tool.weather = Object.assign({ ...fairWeather }, ...on.map(([, weather]) => weather));
  }

  function faultsOf(customer: Customer): WantedFaults {
    const on = Object.entries(faults).filter(([name]) => isOn(name as Trouble, customer));
    return Object.assign({}, ...on.map(([, wanted]) => wanted));
  }

  setFates(createFates(market, isOn));
  return {
    begin(name, customer, forMin) {
      const until = clockwork.nowMs() + forMin * minuteMs;
      for (const key of name in faults ? [`${name} ${customer}`] : [name]) {
        untilMs.set(key, Math.max(untilMs.get(key) ?? 0, until));
      }
      const whose = name in faults ? customer : undefined;
      raise(calmSince, whose, until);
      if (!isReadable(name)) raise(readableSince, whose, until);
      setAll();
      void clockwork.wait(forMin * minuteMs + 1).then(setAll);
    },
    unheard(customer, act) {
      market.sandbox.setFaults(market.idOf(customer), { lose: 1 });
      act();
      setAll();
      raise(calmSince, customer, clockwork.nowMs());
    },
    note(until = clockwork.nowMs(), customer) {
      raise(calmSince, customer, until);
      if (customer === undefined) raise(readableSince, customer, until);
    },
    endAll() {
      untilMs.clear();
      for (const since of [calmSince, readableSince]) for (const key of since.keys()) since.set(key, clockwork.nowMs());
      setAll();
    },
    calmSinceMs,
    readableSinceMs: (customer) => latestOf(readableSince, customer),
    diskFault() {
      if (!isOn('disk_full') || clockwork.random() >= 0.3) return undefined;
      return Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    },
  };
}

type Since = Map<Customer | undefined, number>;

function raise(since: Since, customer: Customer | undefined, untilMs: number): void {
  since.set(customer, Math.max(since.get(customer) ?? 0, untilMs));
}

function latestOf(since: Since, customer: Customer): number {
  return Math.max(since.get(undefined) ?? 0, since.get(customer) ?? 0);
}

function createFates(market: Market, isOn: (name: Trouble) => boolean): (exchange: Exchange) => Fate {
  const { port } = new URL(market.addresses.url);
  const lag = createLag();
  const leaveOut = createLeaveOut(market);
  return ({ from, method, url, headers }) => {
    const fate: Fate = { thereMs: 1 + clockwork.random() * 40, backMs: 1 + clockwork.random() * 40 };
    // These faults do not concern what customers and the marketplace do.
    if (url.port !== port || from === undefined) return fate;
    const lost = whatIsLost(isOn);
    if (lost !== undefined) fate.lost = lost;
    fate.backMs += drawDelayMs(isOn);
    if (method === 'GET') {
      const ageMs = isOn('reads_old') ? clockwork.random() * oldestAnswerMs : 0;
      const question = `${from.name} ${headers['authorization']} ${url.pathname}${url.search}`;
      const misses = isOn('answers_miss') && url.pathname.endsWith('/participants');
      const refusal = refusalOf(url, isOn);
      fate.instead = async (ask) => {
        if (refusal !== null) return refusal;
        const answer = await lag(question, ask, ageMs);
        return misses ? leaveOut(url.pathname, answer) : answer;
      };
    }
    return fate;
  };
}

/** Answers that a contract or cursor does not exist, although it does. */
function refusalOf({ pathname, searchParams }: URL, isOn: (name: Trouble) => boolean): Answer | null {
  const isOfContract = /\/contracts\/[^/]+/.test(pathname);
  if (isOfContract && isOn('contracts_missing') && clockwork.random() < 0.6) return toRefusal(404, 'NOT_FOUND');
  const hasCursor = pathname.endsWith('/updates') && searchParams.has('cursor');
  return hasCursor && isOn('cursors_refused') ? toRefusal(400, 'BAD_REQUEST') : null;
}

function toRefusal(status: number, code: string): Answer {
  const body = JSON.stringify({ error: 'There is none such', code });
  return { status, headers: { 'content-type': 'application/json' }, body };
}

function drawDelayMs(isOn: (name: Trouble) => boolean): number {
  if (isOn('marketplace_slow')) return clockwork.random() * 20_000;
  return isOn('marketplace_busy') ? 1000 + clockwork.random() * 2000 : 0;
}

function whatIsLost(isOn: (name: Trouble) => boolean): Fate['lost'] {
  if (isOn('marketplace_away')) return clockwork.random() < 0.5 ? 'request' : 'answer';
  return isOn('answers_lost') && clockwork.random() < 0.4 ? 'answer' : undefined;
}

/** An older answer to the same request, as from a lagging replica. */
function createLag() {
  const kept = new Map<string, { atMs: number; answer: Answer }[]>();
  return async (question: string, ask: () => Promise<Answer>, ageMs: number): Promise<Answer> => {
    const answer = await ask();
    const answers = kept.get(question) ?? [];
    if (answer.status === 200) answers.push({ atMs: clockwork.nowMs(), answer });
    kept.set(question, answers.slice(-answersKept));
    const old = answers.findLast(({ atMs }) => atMs <= clockwork.nowMs() - ageMs);
    return ageMs > 0 && old !== undefined ? old.answer : answer;
  };
}

/** Leaves one of several people on a contract out of an answer: each only once, because two such answers are believed. */
function createLeaveOut(market: Market) {
  const missed = new Set<string>();
  return (path: string, answer: Answer): Answer => {
    // A proxy's error page is not JSON.
    if (answer.status !== 200 || !answer.body.startsWith('{')) return answer;
    const body = JSON.parse(answer.body) as { participants: { opentrainUserId: string }[] };
    const one = body.participants.find(({ opentrainUserId: id }) => !missed.has(`${path} ${id}`));
    if (one === undefined || body.participants.length < 2) return answer;
    missed.add(`${path} ${one.opentrainUserId}`);
    const contract = market.contracts.find(({ id }) => path.includes(`/${id}/`));
    if (contract !== undefined) contract.isLeftOut = true;
    const participants = body.participants.filter((other) => other !== one);
    return { ...answer, body: JSON.stringify({ ...body, participants }) };
  };
}
