import { z } from 'zod';
import { dropTrailing } from '../lib/text.ts';
import { isPlainBeyondLoopback } from '../lib/url.ts';
import { isObject } from './values.ts';

/** Without a trailing slash. */
export function rootUrl(error: string) {
  return z
    .url({ protocol: /^https?$/, error })
    .refine((text) => !/[?#@]/.test(text), 'without credentials, query or fragment')
    .transform((text) => dropTrailing(text, '/'));
}

/** A text that can be sent in a header. */
export function credential(error?: string) {
  return z.string({ error }).regex(/^[\x21-\x7e]+$/, 'is printable ASCII without spaces');
}

export const allowHttp = z.boolean().default(false);

export function isTransportAllowed(settings: { url: string; allowHttp: boolean }): boolean {
  return settings.allowHttp || !isPlainBeyondLoopback(settings.url);
}

export const plainHttp = {
  path: ['url'],
  error: 'is plain http to another machine, which needs "allowHttp": true',
};

/** A Map, because strangers choose the keys, which may be `__proto__`. */
export function mapOf<T>(value: z.ZodType<T>) {
  return z
    .custom<object>(isObject)
    .transform((entries) => new Map<string, unknown>(Object.entries(entries)))
    .pipe(z.map(z.string(), value));
}
