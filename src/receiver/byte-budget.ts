/** How many bytes of requests may lie in memory at once, and how they are shared. */
export interface ByteBudget {
  /** @param owner who the bytes are for: any text, as it is forgotten with its last share */
  open(owner: string): ByteShare;
}

/** What one request holds of it. */
export interface ByteShare {
  /** @returns whether there was room; what there was no room for is not counted */
  take(bytes: number): boolean;
  /** Gives all of it back. Harmless to repeat. */
  release(): void;
}

/**
 * An owner may hold as much as is still free: one alone at most half, two a third each, and with
 * any number of them something is left for whoever comes next.
 */
export function createByteBudget(maxBytes: number): ByteBudget {
  const held = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    const after = (held.get(owner) ?? 0) + bytes;
    if (after === 0) held.delete(owner);
    else held.set(owner, after);
    total += bytes;
  }

  return {
    open(owner) {
      let taken = 0;
      return {
        take(bytes) {
          const after = (held.get(owner) ?? 0) + bytes;
          if (after > maxBytes - total - bytes) return false;
          add(owner, bytes);
          taken += bytes;
          return true;
        },
        release() {
          add(owner, -taken);
          taken = 0;
        },
      };
    },
  };
}
