import { randomBytes } from 'node:crypto';
import type { CookieOptions, Request, Response } from 'express';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ConsoleTokens, isSameText, type Operator, type TokenOwner } from './tokens.ts';

/**
 * A session is a sealed cookie, so every instance knows it and none stores it. It ends with its time, with the browser
 * that signs out, and when the token of its owner is changed or removed.
 */
export interface Session {
  operator: Operator;
  /** What a form of this session must contain. A stranger's page cannot know it. */
  csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

const context = 'console.session';
const lastsMs = 12 * 3_600_000;

interface Content {
  name: string;
  proof: string;
  id: string;
  /** Milliseconds since 1970. */
  until: number;
}

export function createSessions(tokens: ConsoleTokens, box: Pick<SecretBox, 'seal' | 'open' | 'digest'>, clock: Clock) {
  function unseal(value: string): Content | undefined {
    try {
      return JSON.parse(box.open(Buffer.from(value, 'base64url'), context).toString()) as Content;
    } catch {
      // Changed on its way, or sealed with a key that is no longer used.
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

export function hasToken({ csrf }: Session, given: string | null): boolean {
  return given !== null && isSameText(given, csrf);
}

/** A browser takes a `__Host-` cookie only over TLS, and from this host alone. */
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

/** Signs in who started Gangway, once, for ten minutes. The code is in the memory of this process alone. */
export function createSignInLink(clock: Clock) {
  const code = randomBytes(32).toString('base64url');
  const until = clock.now().getTime() + linkLastsMs;
  let isUsed = false;
  return {
    /** The end of its address: `/sign-in/<code>`. */
    code,
    /** Whether it is the code, and still valid. It is valid once. */
    use(given: string): boolean {
      if (!isSameText(given, code) || isUsed || clock.now().getTime() >= until) return false;
      isUsed = true;
      return true;
    },
  };
}
