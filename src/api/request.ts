import type { Request } from 'express';
import rawBody from 'raw-body';
import { AppError } from '../domain/errors.ts';
import { isCompressed } from '../lib/is-compressed.ts';
import { maskText } from '../lib/mask.ts';
import type { Operation } from './operation-schema.ts';
import { idempotencyKey } from './schemas/common-schema.ts';

/** What is taken from a request, and what is refused. */

const bodyBytes = 256 * 1024;
const mostNamed = 5;

/** The whole query. @throws AppError where something is given twice: it is not clear which one is meant */
export function readQuery(request: Request): Record<string, string> {
  const query = new URL(request.originalUrl, 'http://api').searchParams;
  const names = [...query.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new AppError('invalid', `The query has ${twice.slice(0, 100)} twice`);
  return Object.fromEntries(query);
}

/** The key that makes an act be done once. @throws AppError where it cannot be one */
export function readKey({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  const { success } = idempotencyKey.safeParse(key);
  if (success) return String(key);
  throw new AppError('invalid', 'An Idempotency-Key has 1 to 200 letters, digits and signs, without spaces');
}

export function hasBody({ headers }: Request): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
}

/** @returns an empty object where nothing was sent */
export async function readJson(request: Request): Promise<unknown> {
  if (!hasBody(request)) return {};
  if (!request.is('application/json') || isCompressed(request.headers['content-encoding'])) {
    throw new AppError('unsupported_media_type', 'Send application/json in UTF-8, not compressed');
  }
  const text = await rawBody(request, { limit: bodyBytes, encoding: 'utf-8' });
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid', 'The body is no JSON');
  }
}

/** @throws AppError `invalid` with what is wrong with it */
export function checkGiven(schema: NonNullable<Operation['body']>, given: unknown, what: string) {
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const faults = checked.error.issues.slice(0, mostNamed).map(({ path, message }) => {
    const at = path.map(String).join('.');
    return at === '' ? message : `${at}: ${message}`;
  });
  throw new AppError('invalid', maskText(`${what} is not valid: ${faults.join('; ')}`));
}
