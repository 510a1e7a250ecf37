const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const durationPattern = /^(\d{1,9})(ms|s|m|h|d)$/;
const unitBytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };
const sizePattern = /^(\d{1,6})(B|KiB|MiB|GiB|TiB)$/;

/** `500ms`, `30s`, `5m`, `24h` or `14d` as milliseconds; undefined for any other text. */
export function toDurationMs(text: string): number | undefined {
  const [, amount, unit] = durationPattern.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitMs[unit as keyof typeof unitMs];
}

/** `512KiB`, `64MiB` or `1GiB` as bytes; undefined for any other text. */
export function toSizeBytes(text: string): number | undefined {
  const [, amount, unit] = sizePattern.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitBytes[unit as keyof typeof unitBytes];
}

/** `500ms`, `90s` or `14d`: in the largest unit that gives a whole number. */
export function sayDuration(ms: number): string {
  const [unit, size] = Object.entries(unitMs).findLast(([, each]) => ms >= each && ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

const ages = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

/** Such as "38 min", in the largest unit that gives at least two: "90 min" says more than "1 h". */
export function sayAge(ms: number): string {
  const [size, unit] = ages.find(([least]) => ms >= 2 * least) ?? [1000, 's'];
  return `${Math.floor(ms / size)} ${unit}`;
}

/** An instant for people: "2026-03-15 12:00 UTC". */
export function sayInstant(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
}

/** A text whose instants are written for people. */
export function sayInstants(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (instant) => sayInstant(instant));
}
