/**
 * The value that this share of all values does not exceed, by the nearest rank.
 *
 * @param share above 0 and at most 1, such as 0.95
 * @returns null of no values
 */
export function percentileOf(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null;
}
