/**
 * For equal texts, and for equal lists of texts, returns always the first one, so that very many equal
 * ones take the memory of one.
 */
export interface SameText {
  text(value: string): string;
  list(values: readonly string[]): string[];
}

export function createSameText(): SameText {
  const texts = new Map<string, string>();
  const lists = new Map<string, string[]>();

  function text(value: string): string {
    const same = texts.get(value);
    if (same === undefined) texts.set(value, value);
    return same ?? value;
  }

  return {
    text,
    list(values) {
      const key = JSON.stringify(values);
      const same = lists.get(key) ?? values.map(text);
      lists.set(key, same);
      return same;
    },
  };
}
