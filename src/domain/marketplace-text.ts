/**
 * Every string of the marketplace is checked here before it is used, because customers and trainers write them: it must be
 * short enough and without control characters.
 */

const maxIdLength = 200;
const maxTextLength = 500;
const maxEmailLength = 254;

const control = /\p{Cc}/u;
const email = /^[^\s@<>",;:()[\]\\]+@[^\s@<>",;:()[\]\\]+\.[^\s@<>",;:()[\]\\]+$/;

/** An opaque id; undefined if the value cannot be one. */
export function toId(value: unknown): string | undefined {
  // Beyond the safe integers, two ids may have become one number.
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

/** An address that can receive mail; undefined for anything else. */
export function toEmail(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxEmailLength) return undefined;
  return email.test(value) && !control.test(value) && value.isWellFormed() ? value : undefined;
}

/** The part after the last `@`, in lower case; empty without an `@`. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@');
  return at < 0 ? '' : address.slice(at + 1).toLowerCase();
}

/** An unambiguous instant, with a zone and a year of four digits. */
const instant = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+(Z|[+-]\d{2}:?\d{2})$/i;

/** The instant in the form that sorts like time; undefined if the value is not an instant. */
export function toInstantText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 40 || !instant.test(value)) return undefined;
  const ms = Date.parse(value);
  const text = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  // With its zone, the year may no longer have four digits. The text then begins with a sign and does not sort.
  return /^\d/.test(text) ? text : undefined;
}
