const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

/** A time span in its largest unit, such as "38 min". From two of a unit on, so that "90 min" stays exact enough. */
export function sayAge(ms: number): string {
  const [size, unit] = units.find(([least]) => ms >= 2 * least) ?? [1000, 's'];
  return `${Math.floor(ms / size)} ${unit}`;
}
