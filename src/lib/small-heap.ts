import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes V8 collect garbage early instead of growing with the memory of the machine. For a command that runs beside other
 * processes and is in no hurry. It costs some processor time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
}

/**
 * While a long file streams through, V8 reserves more and more memory for short-lived values, because
 * it prefers memory to time. From now on that space does not grow, and the returned function, called
 * now and then, collects garbage (some tens of milliseconds each time). For a process that does one
 * such thing and ends. Node has no better way.
 */
export function openHeapClearing(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/**
 * `fetch` reads answers with a small WebAssembly program. After some answers V8 compiles it again, for speed. That takes
 * 24 MiB, of which an idle bridge keeps 10, a tenth of its memory. With this it only happens after millions of answers.
 */
export function keepFetchSmall(): void {
  setFlagsFromString('--wasm-tiering-budget=2000000000');
}

/**
 * V8 lets garbage grow to four times the memory in use before it collects it, and keeps the memory. With this the limit
 * is half of the memory in use, for a process that lives long: at 200 deliveries a second its heap was 92 MiB large, and
 * 216 without this. A busy bridge then collects every few seconds, for some 30 ms.
 */
export function keepGarbageSmall(): void {
  setFlagsFromString('--heap-growing-percent=50');
}

const giveBackForMs = 15_000;

/**
 * V8 keeps the pages that a collection has freed, so a busy process grows with each new peak. With this flag a collection
 * gives them back, but takes more processor time. So the flag is set for some seconds now and then, in which a busy
 * process collects a few times. An idle process has no peaks. With it a busy bridge grew by 13 MiB in an hour, and by 60
 * without it.
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
