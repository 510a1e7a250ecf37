/** What a conversion left out. */
export interface LossNotes {
  add(what: 'node' | 'mark', type: string): void;
  add(what: 'link' | 'image'): void;
  /** A sentence for each kind, in the order in which they came first. */
  list(): string[];
}

const sentences: Record<'node' | 'mark' | 'link' | 'image', (type: string) => string> = {
  node: (type: string) => `${nameOf('node', type)} is not known: only its text was kept`,
  mark: (type: string) => `${nameOf('mark', type)} was left out`,
  link: () => 'A link that is not http or https was left out: only its text was kept',
  image: () => 'An image was left out',
};

const maxKinds = 50;

export function createLossNotes(): LossNotes {
  const times = new Map<string, number>();
  return {
    add(what: 'node' | 'mark' | 'link' | 'image', type?: string) {
      const sentence = sentences[what](type ?? '');
      if (times.has(sentence) || times.size < maxKinds) times.set(sentence, (times.get(sentence) ?? 0) + 1);
    },
    list: () => [...times].map(([sentence, count]) => (count === 1 ? sentence : `${sentence} (${count} times)`)),
  };
}

/** Types are written by strangers. */
function nameOf(what: string, type: string): string {
  return /^\w{1,40}$/.test(type) ? `The ${what} "${type}"` : `A ${what}`;
}
