const maxKinds = 50;

export type LossNotes = ReturnType<typeof createLossNotes>;

/** Collects what was left out of a text, in sentences. */
export function createLossNotes() {
  const times = new Map<string, number>();
  return {
    add(sentence: string): void {
      if (times.has(sentence) || times.size < maxKinds) times.set(sentence, (times.get(sentence) ?? 0) + 1);
    },
    /** A sentence for each kind of loss. */
    list: () => [...times].map(([sentence, count]) => (count === 1 ? sentence : `${sentence} (${count} times)`)),
  };
}

/** Strangers choose the types. */
export function describeType(what: string, type: string): string {
  return /^\w{1,40}$/.test(type) ? `The ${what} "${type}"` : `A ${what}`;
}
