/**
 * By how much the local clock is ahead of the `Date` header (negative: behind). The header has whole
 * seconds and the answer takes time, so this is the smallest drift that is possible. Undefined without
 * a header, and for an answer from a cache.
 */
export function driftMsOf(
  headers: Headers,
  { sentAtMs, answeredAtMs }: { sentAtMs: number; answeredAtMs: number },
): number | undefined {
  const theirsMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(theirsMs) || headers.has('age')) return undefined;
  const leastMs = sentAtMs - (theirsMs + 1000);
  const mostMs = answeredAtMs - theirsMs;
  if (leastMs > 0) return leastMs;
  return mostMs < 0 ? mostMs : 0;
}
