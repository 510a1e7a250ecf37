import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { CookieOptions, Request, Response } from 'express';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { Quiet } from '../../lib/quiet.ts';
import type { Role } from '../../operations/operation.ts';

/** A person who uses the console or the API. An `operator` may act, a `viewer` may only read. */
export interface Operator {
  /** The name of their token in `console.tokens`. */
  name: string;
  role: Role;
}

type ConsoleTokens = ReturnType<typeof createConsoleTokens>;

export interface TokenOwner extends Operator {
  /** Binds a session to the token: a digest from which the token cannot be recovered. */
  proof: string;
}

/** The tokens of `console.tokens`, with which operators sign in. */
export function createConsoleTokens(
  configured: ReadonlyMap<string, { token: string; role: Role }>,
  box: Pick<SecretBox, 'digest'>,
) {
  const proofOf = (token: string) => box.digest(`console.token:${token}`);
  const owners = [...configured].map(([name, { token, role }]): TokenOwner => ({ name, role, proof: proofOf(token) }));
  return {
    /** The first owner who may act. */
    operator: owners.find(({ role }) => role === 'operator'),
    isEmpty: owners.length === 0,
    /** The owner of a token. Timing reveals nothing about the tokens that exist. */
    find(token: string): TokenOwner | undefined {
      const proof = proofOf(token);
      const [owner] = owners.filter((one) => isSameText(one.proof, proof));
      return owner;
    },
    /** The owner with this name, if their token still has this proof. */
    findBound: (name: string, proof: string) => owners.find((one) => one.name === name && isSameText(one.proof, proof)),
  };
}

/** Compares in constant time. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export type RefusedTokens = ReturnType<typeof createRefusedTokens>;

/** It does not include the token, which may be valid elsewhere. */
export interface RefusedToken {
  where: 'console' | 'api' | 'metrics';
  reason: 'missing' | 'wrong' | 'too_many_tries';
  address: string | undefined;
}

/** Reports refused tokens, so that guessing is noticed, without letting a stranger fill the disk. */
export function createRefusedTokens(metrics: Metrics, logger: Logger, quiet: Quiet) {
  return {
    /** Logs one line a minute for each place and reason. */
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
/** This many failures from all addresses together are a flood. */
const flood = 100;
const mostKept = 10_000;

/**
 * Limits attempts with wrong tokens to a few a minute from one address. In a flood of wrong tokens from many addresses,
 * each address may try once, so that strangers cannot lock operators out.
 */
export function createSignInLimit(clock: Clock) {
  let failures: { network: string; digest: string | undefined; at: number }[] = [];
  function recent(): typeof failures {
    const now = clock.now().getTime();
    failures = failures.filter(({ at }) => at > now - windowMs).slice(-mostKept);
    return failures;
  }
  return {
    /** @returns how many milliseconds to wait before the next attempt; 0 if it is allowed now */
    waitMs(address: string): number {
      const all = recent();
      const network = networkOf(address);
      const own = all.filter((one) => one.network === network);
      const oldest = own.at(all.length >= flood ? -1 : -mostFailures);
      return oldest === undefined ? 0 : Math.max(0, oldest.at + windowMs - clock.now().getTime());
    },
    /** @param tried the credential, if programs may repeat it: the same one again is not another failure */
    noteFailure(address: string, tried?: string): void {
      const network = networkOf(address);
      const digest = tried === undefined ? undefined : hash('sha256', tried);
      const isAgain = digest !== undefined && recent().some((one) => one.network === network && one.digest === digest);
      if (!isAgain) failures.push({ network, digest, at: clock.now().getTime() });
    },
  };
}

/** Someone who has one IPv6 address has all 2^64 addresses of its network. */
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

/** What the console and the API share. */
export interface SharedWithApi {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  /** Who may read without a token. Only `gangway try` sets it, for a console on loopback. */
  alwaysSignedIn: Operator | undefined;
}

/**
 * A session is a sealed cookie, so every instance can read it and none stores it. It ends after 12 hours, when the browser
 * signs out, and when its owner's token is changed or removed.
 */
export interface Session {
  operator: Operator;
  /** Every form of this session must contain it. A stranger's page cannot know it. */
  csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

const context = 'console.session';
const lastsMs = 12 * 3_600_000;

interface Content extends Pick<TokenOwner, 'name' | 'proof'> {
  id: string;
  /** Milliseconds since 1970. */
  until: number;
}

/** @param alwaysSignedIn see SharedWithApi */
export function createSessions(
  tokens: ConsoleTokens,
  box: Pick<SecretBox, 'seal' | 'open' | 'digest'>,
  clock: Clock,
  alwaysSignedIn?: Operator,
) {
  // No page of another site can read it, because the host check refuses names that strangers point here.
  const always = alwaysSignedIn && { operator: alwaysSignedIn, csrf: randomBytes(16).toString('hex') };
  function unseal(value: string): Content | undefined {
    try {
      return JSON.parse(box.open(Buffer.from(value, 'base64url'), context).toString()) as Content;
    } catch {
      // It was changed, or sealed with a key that is no longer used.
      return undefined;
    }
  }

  return {
    open(request: Request, response: Response, { name, proof }: TokenOwner): void {
      const until = clock.now().getTime() + lastsMs;
      const content: Content = { name, proof, id: randomBytes(16).toString('hex'), until };
      const value = box.seal(Buffer.from(JSON.stringify(content)), context).toString('base64url');
      response.cookie(cookieName(request), value, { ...cookieOptions(request), maxAge: lastsMs });
    },
    read(request: Request): Session | undefined {
      if (always !== undefined) return always;
      const value = readCookie(request.headers.cookie, cookieName(request));
      const content = value === undefined ? undefined : unseal(value);
      if (content === undefined || content.until <= clock.now().getTime()) return undefined;
      const owner = tokens.findBound(content.name, content.proof);
      if (owner === undefined) return undefined;
      return { operator: { name: owner.name, role: owner.role }, csrf: box.digest(`console.csrf:${content.id}`) };
    },
    close(request: Request, response: Response): void {
      response.clearCookie(cookieName(request), cookieOptions(request));
    },
  };
}

/** Browsers accept a `__Host-` cookie only over TLS and only from this host. */
function cookieName(request: Request): string {
  return request.secure ? '__Host-gangway' : 'gangway';
}

function cookieOptions(request: Request): CookieOptions {
  return { httpOnly: true, sameSite: 'strict', secure: request.secure, path: '/' };
}

function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

export type SignInLink = ReturnType<typeof createSignInLink>;

const linkLastsMs = 10 * 60_000;

/** Signs in the person who started Gangway: once, within ten minutes. Only this process knows the code. */
export function createSignInLink(clock: Clock) {
  const code = randomBytes(32).toString('base64url');
  const until = clock.now().getTime() + linkLastsMs;
  let isUsed = false;
  return {
    /** The last part of its address: `/sign-in/<code>`. */
    code,
    /** @returns whether the code is correct and still valid; it is then used up */
    use(given: string): boolean {
      if (!isSameText(given, code) || isUsed || clock.now().getTime() >= until) return false;
      isUsed = true;
      return true;
    },
  };
}
