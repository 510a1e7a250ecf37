import type { Clock } from '../../lib/clock.ts';

/** How often a token may be tried: a few times a minute from one address, and not without end from all together. */
export interface SignInLimit {
  /** @returns how many milliseconds to wait before the next try; 0 if it may be tried now */
  waitMs(address: string): number;
  /** @param tried what was tried, if a program may try the same again and again: that is one failure, not many */
  noteFailure(address: string, tried?: string): void;
}

const windowMs = 60_000;
const mostFailures = 5;
const mostOfAll = 100;

export function createSignInLimit(clock: Clock): SignInLimit {
  let failures: { address: string; tried: string | undefined; at: number }[] = [];
  function recent(): typeof failures {
    const now = clock.now().getTime();
    failures = failures.filter(({ at }) => at > now - windowMs);
    return failures;
  }
  const untilFree = (at: number | undefined) =>
    at === undefined ? 0 : Math.max(0, at + windowMs - clock.now().getTime());
  return {
    waitMs(address) {
      const own = recent().filter((one) => one.address === address);
      return Math.max(untilFree(own.at(-mostFailures)?.at), untilFree(recent().at(-mostOfAll)?.at));
    },
    noteFailure(address, tried) {
      const isAgain = tried !== undefined && recent().some((one) => one.address === address && one.tried === tried);
      if (!isAgain) failures.push({ address, tried, at: clock.now().getTime() });
    },
  };
}
