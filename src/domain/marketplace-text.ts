/**
 * Checks every string of the marketplace before it is used. The strings come from customers and trainers. They are
 * values, bounded and free of control characters, or they are refused.
 */

const maxIdLength = 200;
const maxTextLength = 500;
const maxEmailLength = 254;

const control = /\p{Cc}/u;
const email = /^[^\s@<>",;:()[\]\\]+@[^\s@<>",;:()[\]\\]+\.[^\s@<>",;:()[\]\\]+$/;

/** An opaque id that can be a key; undefined if the value cannot be one. */
export function toId(value: unknown): string | undefined {
  // Beyond the safe integers two ids may have become the same number.
  const text = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text.length > maxIdLength) return undefined;
  return control.test(text) || !text.isWellFormed() ? undefined : text;
}

/** A name or title to show: control characters become spaces, and long text is cut. */
export function toText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.replace(/\p{Cc}+/gu, ' ').trim();
  return text === '' ? undefined : text.slice(0, maxTextLength).toWellFormed();
}

/** An address that can receive mail; anything else counts as no address. */
export function toEmail(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxEmailLength) return undefined;
  return email.test(value) && !control.test(value) && value.isWellFormed() ? value : undefined;
}

/** The part after the last `@`, in lower case. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@');
  // A name without `@` has no domain.
  return at < 0 ? '' : address.slice(at + 1).toLowerCase();
}

/** An unambiguous instant: with its zone, and a year of four digits. */
const instant = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+(Z|[+-]\d{2}:?\d{2})$/i;

/** The instant in the one form that sorts like time; undefined if the value is no instant. */
export function toInstantText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 40 || !instant.test(value)) return undefined;
  const ms = Date.parse(value);
  const text = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  // A zone can lead out of the years of four digits. Such a text begins with a sign, and sorts before all others.
  return /^\d/.test(text) ? text : undefined;
}
