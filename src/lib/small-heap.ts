import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Keeps V8 from reserving more and more memory for short-lived values while a long file streams through. The returned function
 * collects garbage, which takes some tens of milliseconds, and must be called now and then. For a process that does one such
 * thing and ends. Node has no better way.
 */
export function openHeapClearing(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/**
 * For every process that does the work of a bridge.
 *
 * V8 lets garbage grow to four times the memory in use before it collects it, and keeps the memory. Here the limit is a quarter
 * of the memory in use. Reading 100,000 contracts took 230 MiB instead of 245 with a half, and reading 10,000 took no more
 * processor time. With a half, 200 deliveries a second took 92 MiB instead of 216.
 *
 * `fetch` reads answers with a small WebAssembly program, which V8 compiles again, for speed, after some answers. That takes
 * 24 MiB, of which an idle bridge keeps 10, a tenth of its memory. Here that only happens after millions of answers.
 */
export function keepMemorySmall(): void {
  setFlagsFromString('--heap-growing-percent=25');
  setFlagsFromString('--wasm-tiering-budget=2000000000');
}

const giveBackForMs = 15_000;

/**
 * V8 keeps the pages that a collection has freed, so a busy process grows with each peak. With this flag a collection gives
 * them back, but takes more processor time. So the flag is set for some seconds now and then, during which a busy process
 * collects a few times. A busy bridge grew by 13 MiB in an hour instead of 60.
 *
 * @returns a function that ends this
 */
export function giveMemoryBack({ everyMs = 5 * 60_000 } = {}): () => void {
  let ending: NodeJS.Timeout | undefined;
  const beginning = setInterval(() => {
    setFlagsFromString('--optimize-for-size');
    ending = setTimeout(() => setFlagsFromString('--no-optimize-for-size'), giveBackForMs).unref();
  }, everyMs).unref();
  return () => {
    clearInterval(beginning);
    clearTimeout(ending);
    setFlagsFromString('--no-optimize-for-size');
  };
}
