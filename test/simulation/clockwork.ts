import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/**
 * One clock and one order for everything in this process. The seed decides timers, dates and random values, and which of
 * all pending continuations runs next. So the same seed gives the same log, line by line.
 *
 * It replaces Node's own functions, so it must be imported before anything else.
 */
export interface Clockwork {
  nowMs(): number;
  /** The machine's clock, to measure how long a run takes. */
  realMs(): number;
  /** From 0 to below 1. */
  random(): number;
  /** Starts over, with nothing in progress. */
  reset(seed: number, startMs: number): void;
  /** Resolves when it is the caller's turn among everything that could go on. */
  turn(): Promise<void>;
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Lets time pass until the condition holds.
   *
   * @throws Error if work loops while hardly any time passes
   */
  run(isOver: () => boolean): Promise<void>;
  /** Sets whether nothing happens for a while, so that loops may rest longer. */
  setIdle(is: boolean): void;
  isIdle(): boolean;
  /** How many turns were taken since the last reset. */
  turns(): number;
}

/** A process. Everything that it began ends with it. */
export interface Owner {
  readonly name: string;
  isDead: boolean;
}

const owners = new AsyncLocalStorage<Owner>();

export function runAs<T>(owner: Owner, work: () => T): T {
  return owners.run(owner, work);
}

export function currentOwner(): Owner | undefined {
  return owners.getStore();
}

/** A dead process waits for this. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

export function isDead(): boolean {
  return owners.getStore()?.isDead === true;
}

interface Timer {
  atMs: number;
  number: number;
  fire: () => void;
  owner: Owner | undefined;
  everyMs: number | null;
  /** When it fires if something happens; not later than `atMs`. */
  busyAtMs: number;
}

interface Ready {
  go: () => void;
  owner: Owner | undefined;
}

const realImmediate = setImmediate;
const turnsAtOnce = 32;
/** Forty times the turns of a storm's busiest minute. */
const mostTurnsInAMinute = 50_000;
const minuteMs = 60_000;
const RealDate = Date;

let nowMs = 0;
let startedMs = 0;
let state = 1;
let number = 0;
let turns = 0;
let minuteFromMs = 0;
let turnsBeforeMinute = 0;
let timers: Timer[] = [];
let ready: Ready[] = [];
let isIdle = false;

export const clockwork: Clockwork = {
  nowMs: () => nowMs,
  realMs: () => RealDate.now(),
  random,
  reset(seed, startMs) {
    state = seed >>> 0 || 1;
    for (let index = 0; index < 8; index += 1) random();
    nowMs = startMs;
    startedMs = startMs;
    number = 0;
    turns = 0;
    minuteFromMs = startMs;
    turnsBeforeMinute = 0;
    timers = [];
    ready = [];
    isIdle = false;
  },
  turn() {
    const owner = owners.getStore();
    if (owner?.isDead) return never();
    return new Promise((resolve) => ready.push({ go: resolve, owner }));
  },
  wait: (ms, signal) => waitFor(ms, undefined, { signal }),
  isIdle: () => isIdle,
  setIdle(is) {
    if (isIdle && !is) hasten();
    isIdle = is;
  },
  turns: () => turns,
  run: (isOver) =>
    new Promise((resolve, reject) => {
      // Between two turns, the work of the first reaches its next wait. Scheduling many at once is cheaper.
      const takeMany = () => {
        for (let count = 0; count < turnsAtOnce; count += 1) realImmediate(takeOne);
        realImmediate(() => {
          if (isOver()) resolve();
          else if (turns - turnsBeforeMinute < mostTurnsInAMinute) takeMany();
          else reject(new Error('Work goes round and round, and hardly any time passes'));
        });
      };
      const takeOne = () => {
        if (!isOver() && !takeTurn()) moveOn();
      };
      takeMany();
    }),
};

/** Advances to the next timer. */
function moveOn(): void {
  const [next] = timers;
  if (next === undefined) throw new Error('Nothing will ever happen again');
  nowMs = Math.max(nowMs, next.atMs);
  if (nowMs - minuteFromMs >= minuteMs) [minuteFromMs, turnsBeforeMinute] = [nowMs, turns];
  while (timers[0] !== undefined && timers[0].atMs <= nowMs) makeReady(timers.shift() as Timer);
}

/** Mulberry32. */
function random(): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = state;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function takeTurn(): boolean {
  ready = ready.filter(({ owner }) => owner?.isDead !== true);
  if (ready.length === 0) return false;
  turns += 1;
  const at = ready.length === 1 ? 0 : Math.floor(random() * ready.length);
  const [chosen] = ready.splice(at, 1);
  chosen?.go();
  return true;
}

function makeReady(timer: Timer): void {
  if (timer.owner?.isDead) return;
  ready.push({ go: timer.fire, owner: timer.owner });
  if (timer.everyMs === null) return;
  const atMs = nowMs + Math.max(timer.everyMs, 1);
  insert({ ...timer, atMs, busyAtMs: atMs }, timer);
}

/** In order of time, and then of creation. */
function insert(timer: Timer, same?: Timer): Timer {
  const placed = same === undefined ? timer : Object.assign(same, timer);
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = timers[middle] as Timer;
    if (other.atMs < placed.atMs || (other.atMs === placed.atMs && other.number < placed.number)) low = middle + 1;
    else high = middle;
  }
  timers.splice(low, 0, placed);
  return placed;
}

/** Loops that rested longer because nothing happened now run as often as usual. */
function hasten(): void {
  for (const timer of timers) timer.atMs = Math.max(nowMs, timer.busyAtMs);
  timers.sort((one, other) => one.atMs - other.atMs || one.number - other.number);
}

function addTimer(fire: () => void, ms: number, everyMs: number | null, busyMs = ms): Timer {
  number += 1;
  const inContext = AsyncLocalStorage.snapshot();
  const owner = owners.getStore();
  const atMs = nowMs + Math.max(0, Number(ms) || 0);
  const timer: Timer = {
    atMs,
    busyAtMs: Math.min(atMs, nowMs + busyMs),
    number,
    fire: () => inContext(fire),
    owner,
    everyMs,
  };
  return owner?.isDead ? timer : insert(timer);
}

function removeTimer(timer: unknown): void {
  const at = timers.indexOf(timer as Timer);
  if (at >= 0) timers.splice(at, 1);
}

/** What `setTimeout` returns. */
class Handle {
  readonly timer: Timer;
  constructor(timer: Timer) {
    this.timer = timer;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    return this;
  }
  [Symbol.dispose](): void {
    removeTimer(this.timer);
  }
}

function clear(handle: unknown): void {
  if (handle instanceof Handle) removeTimer(handle.timer);
}

/**
 * Longer pauses for loops with these usual pauses, and even longer ones while nothing happens: this only reduces the number
 * of runs in a day. The heartbeat still comes within the two minutes after which a process is taken to be silent, even if
 * one run finds that the last beat is less than 20 s old.
 */
const rests = new Map([
  [1000, { busyMs: 60_000, idleMs: 1_800_000 }],
  [10_000, { busyMs: 240_000, idleMs: 1_800_000 }],
  [20_000, { busyMs: 50_000, idleMs: 95_000 }],
  [120_000, { busyMs: 240_000, idleMs: 1_800_000 }],
  [600_000, { busyMs: 1_800_000, idleMs: 3_600_000 }],
]);

interface WaitOptions {
  signal?: AbortSignal | undefined;
}

/** @param busyMs how long to wait if something happens meanwhile */
function waitFor<T>(ms = 0, value?: T, { signal }: WaitOptions = {}, busyMs = ms): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(toAbortError(signal));
    const timer = addTimer(
      () => {
        signal?.removeEventListener('abort', stop);
        resolve(value as T);
      },
      ms,
      null,
      busyMs,
    );
    function stop(): void {
      removeTimer(timer);
      reject(toAbortError(signal as AbortSignal));
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function toAbortError(signal: AbortSignal): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

class VirtualDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(nowMs);
    else super(...(given as [number]));
  }
  static override now(): number {
    return nowMs;
  }
}

type Anything = (...given: never[]) => unknown;

function randomBytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
}

function randomUUID(): string {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function randomInt(min: number, max?: number): number {
  const [from, to] = max === undefined ? [0, min] : [min, max];
  return from + Math.floor(random() * (to - from));
}

function replace(target: object, functions: Record<string, Anything>): void {
  for (const [name, value] of Object.entries(functions)) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  }
}

replace(globalThis, {
  setTimeout: (fire: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    new Handle(addTimer(() => fire(...given), ms, null)),
  setInterval: (fire: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    new Handle(addTimer(() => fire(...given), ms, ms)),
  setImmediate: (fire: (...given: unknown[]) => void, ...given: unknown[]) =>
    new Handle(addTimer(() => fire(...given), 0, null)),
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clear,
});
replace(timersPromises, {
  setTimeout(ms: number, value: unknown, options?: WaitOptions) {
    const { busyMs, idleMs } = rests.get(ms) ?? { busyMs: ms, idleMs: ms };
    return waitFor(isIdle ? idleMs : busyMs, value, options, busyMs);
  },
  setImmediate: (value: unknown, options?: WaitOptions) => waitFor(0, value, options),
});
/** Work takes no time here, so the event loop is never utilized. */
const idle = { idle: 0, active: 0, utilization: 0 };
replace(performance, { now: () => nowMs - startedMs, eventLoopUtilization: () => idle });
replace(Math, { random });
replace(crypto, { randomBytes, randomUUID, randomInt });
replace(AbortSignal, {
  timeout: (ms: number) => {
    const controller = new AbortController();
    addTimer(() => controller.abort(new DOMException('The time is up', 'TimeoutError')), ms, null);
    return controller.signal;
  },
});
Object.defineProperty(globalThis, 'Date', { value: VirtualDate, writable: true, configurable: true });
syncBuiltinESMExports();
/** Stack traces are logged with errors, and depend on which functions the engine has optimized by then. */
Error.stackTraceLimit = 0;
