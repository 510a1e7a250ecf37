/** The end of one call: its time-out or the caller's signal, whichever comes first. */
export interface Deadline {
  signal: AbortSignal;
  /** Whether it ended by the time-out. */
  hasPassed(): boolean;
  /** Call it when the call has ended; otherwise everything stays in memory until the time-out. */
  clear(): void;
}

export function createDeadline(timeoutMs: number, stopping?: AbortSignal): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  const stop = () => controller.abort(stopping?.reason);
  const timer = setTimeout(() => {
    hasPassed = true;
    controller.abort(new DOMException('The time is up', 'TimeoutError'));
  }, timeoutMs);
  timer.unref();
  if (stopping?.aborted) stop();
  stopping?.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    hasPassed: () => hasPassed,
    clear() {
      clearTimeout(timer);
      stopping?.removeEventListener('abort', stop);
    },
  };
}
