const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const pattern = /^(\d{1,9})(ms|s|m|h|d)$/;

/** `500ms`, `30s`, `5m`, `24h` or `14d` as milliseconds; undefined for any other text. */
export function toDurationMs(text: string): number | undefined {
  const [, amount, unit] = pattern.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitMs[unit as keyof typeof unitMs];
}
