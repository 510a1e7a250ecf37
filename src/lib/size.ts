const unitBytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };
const pattern = /^(\d{1,6})(B|KiB|MiB|GiB|TiB)$/;

/** `512KiB`, `64MiB` or `1GiB` as bytes; undefined for any other text. */
export function toSizeBytes(text: string): number | undefined {
  const [, amount, unit] = pattern.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitBytes[unit as keyof typeof unitBytes];
}
