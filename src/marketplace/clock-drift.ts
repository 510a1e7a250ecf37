/** From here on an operator should know; deliveries are refused from 300 s on. */
export const notableDriftMs = 60_000;

/**
 * By how much the local clock is ahead of the one in a `Date` header (behind: negative), as little as
 * the header, which has whole seconds, and the time on the way allow for. Undefined where nothing
 * follows: no header, or an answer that some cache kept.
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
