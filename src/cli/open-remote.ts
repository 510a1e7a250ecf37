import { readEnvironment, readVariable } from '../config/environment.ts';
import { AppError } from '../domain/errors.ts';
import { requestJson } from '../lib/http-client.ts';
import { dropTrailing } from '../lib/text.ts';
import { isPlainBeyondLoopback } from '../lib/url.ts';
import type { OperationName, RemoteGiven, RemoteSession, Session } from './session.ts';

/** Longer than the longest act of the API. */
const timeoutMs = 150_000;
const maxBytes = 64 * 1024 * 1024;

/**
 * A session with a running instance. The token goes only to the named address, never in plain text beyond this machine, and
 * never to an address that an answer redirects to.
 */
export function openRemote(session: Session, url: string): RemoteSession {
  const root = toRoot(session, url);
  const token = readVariable('GANGWAY_API_TOKEN', readEnvironment(session.line), process.cwd()) ?? '';
  if (token === '') return session.misuse('--remote needs a token of console.tokens, in GANGWAY_API_TOKEN');

  async function ask<Answer>(operation: OperationName, given: RemoteGiven = {}): Promise<Answer> {
    const [method = '', path = ''] = operation.split(' ');
    const { body } = await requestJson({
      method,
      url: `${root}/api/v1${toPath(path, given)}`,
      headers: { authorization: `Bearer ${token}` },
      ...(method === 'POST' && { body: given.body ?? {} }),
      purpose: `ask ${new URL(root).host}`,
      secrets: [token],
      timeoutMs,
      maxBytes,
      signal: session.terminal.signal,
    });
    if (typeof body === 'object' && body !== null) return body as Answer;
    throw new AppError('invalid', `What answers at ${root} is not Gangway`);
  }

  return { ...session, ask };
}

function toRoot(session: Session, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return session.misuse('--remote takes the address of an instance, such as https://gangway.example.com');
  }
  if (url.username || url.password || url.search || url.hash) {
    return session.misuse('--remote takes an address without a user, a query or a fragment');
  }
  if (isPlainBeyondLoopback(url.href)) {
    return session.misuse('--remote would send the token in plain text: use https, or a tunnel to this machine');
  }
  return dropTrailing(url.href, '/');
}

function toPath(path: string, { params = {}, query = {} }: RemoteGiven): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, String(value));
  return asked.size === 0 ? filled : `${filled}?${asked}`;
}
