import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Clock } from '../../lib/clock.ts';

export type SignInLimit = ReturnType<typeof createSignInLimit>;

const windowMs = 60_000;
const mostFailures = 5;
/** From so many failures of all together on, it is a flood. */
const flood = 100;
const mostKept = 10_000;

/**
 * How often a token may be tried: a few times a minute from one address. In a flood of wrong tokens from many
 * addresses each may try once, so that no operator is kept out by what others try.
 */
export function createSignInLimit(clock: Clock) {
  let failures: { network: string; digest: string | undefined; at: number }[] = [];
  function recent(): typeof failures {
    const now = clock.now().getTime();
    failures = failures.filter(({ at }) => at > now - windowMs).slice(-mostKept);
    return failures;
  }
  return {
    /** @returns how many milliseconds to wait before the next try; 0 if it may be tried now */
    waitMs(address: string): number {
      const all = recent();
      const network = networkOf(address);
      const own = all.filter((one) => one.network === network);
      const oldest = own.at(all.length >= flood ? -1 : -mostFailures);
      return oldest === undefined ? 0 : Math.max(0, oldest.at + windowMs - clock.now().getTime());
    },
    /** @param tried what was tried, if a program may try the same again and again: that is one failure, not many */
    noteFailure(address: string, tried?: string): void {
      const network = networkOf(address);
      const digest = tried === undefined ? undefined : hash('sha256', tried);
      const isAgain = digest !== undefined && recent().some((one) => one.network === network && one.digest === digest);
      if (!isAgain) failures.push({ network, digest, at: clock.now().getTime() });
    },
  };
}

/** Who has one address of IPv6 has all of the 2^64 around it. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (isIP(plain) !== 6 || plain.includes('%')) return plain;
  const [head = '', tail = ''] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const [before = [], after = []] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8)
    .fill('0')
    .slice(before.length + after.length);
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
