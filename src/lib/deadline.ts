/** The end of one call: its time is up, or it is told to stop, whichever comes first. */
export interface Deadline {
  signal: AbortSignal;
  /** Whether it was the time that was up. */
  hasPassed(): boolean;
  /** To be called once the call has ended, or all of it is kept in memory until the time is up. */
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
