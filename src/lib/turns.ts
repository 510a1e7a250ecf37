import { remembered } from './remembered.ts';

export type Turns = ReturnType<typeof createTurns>;

/** Names that wait share the capacity in turns, so that none of them waits for ever. */
export function createTurns() {
  let last = '';

  /** The same names, beginning after the one that was served last. */
  function inOrder(names: readonly string[]): string[] {
    const sorted = names.toSorted();
    const after = sorted.findIndex((name) => name > last);
    return after === -1 ? sorted : [...sorted.slice(after), ...sorted.slice(0, after)];
  }

  return {
    inOrder,
    served(name: string): void {
      last = name;
    },
    /**
     * Takes up to `limit` in total. Each name gets an equal part, and those after it get what it does not use. If there are
     * more than `limit` names, the others are next.
     *
     * @returns what was taken, one from each name in turn
     */
    async take<T>(
      names: readonly string[],
      limit: number,
      takeFrom: (name: string, limit: number) => Promise<T[]>,
    ): Promise<T[]> {
      const served = inOrder(names).slice(0, limit);
      const parts: T[][] = [];
      let left = limit;
      for (const [index, name] of served.entries()) {
        const part = await takeFrom(name, Math.ceil(left / (served.length - index)));
        parts.push(part);
        left -= part.length;
      }
      // The first name is the last next time, so that no name is always the first.
      last = (served.length < names.length ? served.at(-1) : served[0]) ?? last;
      return interleave(parts);
    },
  };
}

/** The first of each list, then the second of each, and so on. */
function interleave<T>(lists: readonly T[][]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => (index < list.length ? list.slice(index, index + 1) : [])),
  ).flat();
}

/** The turns of one kind, which live as long as their owner, such as a database. */
export function turnsOf(owner: object, kind: string): Turns {
  return remembered(owner, `turns of ${kind}`, createTurns);
}
