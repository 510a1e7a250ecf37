/** The bytes that one request holds. */
export type ByteShare = ReturnType<ReturnType<typeof createByteBudget>['open']>;

/**
 * Limits how many bytes of requests are in memory at the same time. An owner may hold as much as is still free. So one
 * owner gets at most half, two get a third each, and with any number of them something is left for the next one.
 */
export function createByteBudget(maxBytes: number) {
  const held = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    const after = (held.get(owner) ?? 0) + bytes;
    if (after === 0) held.delete(owner);
    else held.set(owner, after);
    total += bytes;
  }

  return {
    /** @param owner any text; it is forgotten with its last share */
    open(owner: string) {
      let taken = 0;
      return {
        /** @returns whether there was room; otherwise nothing is counted */
        take(bytes: number): boolean {
          const after = (held.get(owner) ?? 0) + bytes;
          if (after > maxBytes - total - bytes) return false;
          add(owner, bytes);
          taken += bytes;
          return true;
        },
        /** Gives all bytes back. It may be called again. */
        release(): void {
          add(owner, -taken);
          taken = 0;
        },
      };
    },
  };
}
