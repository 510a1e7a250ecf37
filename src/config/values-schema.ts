import { isIP } from 'node:net';
import { Cron } from 'croner';
import { z } from 'zod';
import { dropTrailing } from '../lib/text.ts';
import { toDurationMs, toSizeBytes } from '../lib/units.ts';
import { nameRule, projectRule } from './text-rules.ts';

/** The kinds of values in a configuration, each with a message that says what to write. */

/** `"500ms"`, `"30s"`, `"5m"`, `"24h"` or `"14d"`, as milliseconds. */
export const duration = measure(toDurationMs, 'write a duration such as "500ms", "30s", "5m", "24h" or "14d"', 'ms');

/** `"512KiB"`, `"64MiB"` or `"1GiB"`, as bytes. */
export const size = measure(toSizeBytes, 'write a size such as "512KiB", "64MiB" or "1GiB"', 'bytes');

function measure(read: (text: string) => number | undefined, remedy: string, unit: string) {
  return (preset: string, min = 0) =>
    z
      .string()
      .transform((text, context) => {
        const amount = read(text);
        if (amount !== undefined) return amount;
        context.addIssue(remedy);
        return z.NEVER;
      })
      .refine((amount) => amount >= min, `must be at least ${min} ${unit}`)
      .prefault(preset);
}

/** A cron pattern of five fields (six with seconds) or a nickname such as `@hourly`, in UTC. */
export const cron = z.string().refine(isCron, 'write a cron pattern of five fields in UTC, such as "*/15 * * * *"');

function isCron(pattern: string): boolean {
  if (!/^@[a-z]+$|^\S+( \S+){4,5}$/.test(pattern)) return false;
  try {
    return new Cron(pattern, { utcOffset: 0, paused: true }).nextRun() !== null;
  } catch {
    return false;
  }
}

export const timeZone = z.string().refine(isTimeZone, 'write an IANA time zone such as "Europe/Berlin"');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}

/** Without trailing slashes, so that paths can be appended to it. */
export const httpUrl = z
  .string()
  .refine(isPlainHttpUrl, 'write an http(s) URL without credentials, query or fragment')
  .transform((url) => dropTrailing(url, '/'));

function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text) || /\s/.test(text)) return false;
  const url = new URL(text);
  const extras = url.username + url.password + url.search + url.hash;
  return /^https?:$/.test(url.protocol) && extras === '';
}

/** A value for a header or a signature, which a stray space or newline would make invalid. */
export const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, and not empty')
  .meta({ secret: true });

export const databaseUrl = z
  .string()
  .regex(
    /^sqlite:(?!\/\/(?!\/)).+$|^postgres(?:ql)?:\/\/.+$/,
    'write "sqlite:<file>" (such as "sqlite:./data/gangway.db") or "postgres://…"',
  )
  .refine(
    isDatabaseUrl,
    'write "postgres://user:password@host/database", with "%23" for a "#" in the password, "%40" for an "@", "%2F" for a "/"',
  )
  .meta({ secret: true });

/** A "#" or "/" in a password that is not encoded ends the host, so another host would be called. */
function isDatabaseUrl(text: string): boolean {
  if (text.startsWith('sqlite:')) return true;
  // A socket has no host.
  const url = URL.parse(text.replace('@/', '@socket/'));
  return url !== null && url.hash === '' && !url.pathname.includes('@');
}

export const port = z.int().min(0).max(65_535);

export const fraction = z.number().min(0).max(1);

/** The brackets of an IPv6 address are removed. */
export const host = z
  .string()
  .transform((text) => (/^\[.*\]$/.test(text) ? text.slice(1, -1) : text))
  .refine((text) => isIP(text) !== 0 || /^[\w.-]+$/.test(text), 'write a host name or an IP address, without a port');

/** One IP address, or a range of them such as `10.0.0.0/8`. */
export const network = z.string().refine(isNetwork, 'write an IP address or a range such as "10.0.0.0/8"');

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export const domain = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, 'write a domain such as "example.com", without an "@"');

export const headerPrefix = z
  .string()
  .regex(/^[A-Za-z0-9-]+-$/, 'write the beginning of a header name, such as "X-Service-"');

/** The name of an install or a tool. It cannot be `__proto__`. */
export const name = z.string().regex(nameRule.pattern, nameRule.says);

export const projectPattern = z.string().regex(projectRule.pattern, projectRule.says);

/** A Map, because strange names must not reach `Object.prototype`. */
export function mapOf<Value extends z.ZodType>(key: z.ZodString, value: Value) {
  return z
    .record(key, value)
    .transform((record) => new Map(Object.entries<z.output<Value>>(record)))
    .prefault({});
}

/** A part of the configuration that may be left out. Its unknown keys are refused. */
export function section<Shape extends z.core.$ZodLooseShape>(meaning: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<Shape>>)
    .describe(meaning);
}
