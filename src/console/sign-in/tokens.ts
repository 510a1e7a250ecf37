import { hash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { Quiet } from '../../lib/quiet.ts';
import type { Role } from '../../operations/operation.ts';

/** A person who is signed in to the console. `operator` may act, `viewer` only sees. */
export interface Operator {
  /** The name of their token in `console.tokens`. */
  name: string;
  role: Role;
}

export type ConsoleTokens = ReturnType<typeof createConsoleTokens>;

export interface TokenOwner extends Operator {
  /** Binds a session to the token: a digest from which the token cannot be found. */
  proof: string;
}

/** The tokens that operators sign in with, of `console.tokens`. */
export function createConsoleTokens(
  configured: ReadonlyMap<string, { token: string; role: Role }>,
  box: Pick<SecretBox, 'digest'>,
) {
  const proofOf = (token: string) => box.digest(`console.token:${token}`);
  const owners = [...configured].map(([name, { token, role }]): TokenOwner => ({ name, role, proof: proofOf(token) }));
  return {
    /** The first who may act. */
    operator: owners.find(({ role }) => role === 'operator'),
    isEmpty: owners.length === 0,
    /** The owner of a token. The time it takes reveals nothing about the tokens that exist. */
    find(token: string): TokenOwner | undefined {
      const proof = proofOf(token);
      const [owner] = owners.filter((one) => isSameText(one.proof, proof));
      return owner;
    },
    /** The owner with this name, while their token is still the one with this proof. */
    findBound: (name: string, proof: string) => owners.find((one) => one.name === name && isSameText(one.proof, proof)),
  };
}

/** Compares in constant time. */
export function isSameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export type RefusedTokens = ReturnType<typeof createRefusedTokens>;

/** It never has the token itself, which may be valid elsewhere. */
export interface RefusedToken {
  where: 'console' | 'api' | 'metrics';
  reason: 'missing' | 'wrong' | 'too_many_tries';
  address: string | undefined;
}

/** Reports tokens that are refused, so that guessing is seen. A stranger cannot fill the disk with it. */
export function createRefusedTokens(metrics: Metrics, logger: Logger, quiet: Quiet) {
  return {
    /** One line a minute for each place and reason, with the latest address. */
    report({ where, reason, address }: RefusedToken): void {
      metrics.tokenRefusals.inc({ where, reason });
      const alsoRefused = quiet.letThrough(`token ${where} ${reason}`);
      if (alsoRefused !== null) logger.warn({ where, reason, address, alsoRefused }, 'A token was refused');
    },
  };
}

type SignInLimit = ReturnType<typeof createSignInLimit>;

const windowMs = 60_000;
const mostFailures = 5;
/** With this many failures from all addresses together, it is a flood. */
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

/** Whoever has one IPv6 address has all 2^64 addresses of its network. */
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

/** Who may use the console and the API, and how often a token may be tried. */
export interface SharedWithApi {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  /** Who may read without a token; only where a console on loopback is tried out. */
  alwaysSignedIn: Operator | undefined;
}
