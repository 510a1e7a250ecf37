/** A rule of the code with one place changed, so that it is another rule. Some test must be red by it. */
export interface Mutant {
  /** The sentence that is no longer true. */
  rule: string;
  file: string;
  /** Occurs in the file once. */
  find: string;
  replace: string;
  /** What is run until something is red, in this order. */
  tests: readonly string[];
}

export function mutate(
  file: string,
  tests: readonly string[],
  changes: readonly (readonly [rule: string, find: string, replace: string])[],
): Mutant[] {
  return changes.map(([rule, find, replace]) => ({ rule, file, find, replace, tests }));
}

/** Goes first wherever the rule is one of what it walks through. */
export const everyOrder = 'test/orders/every-order.test.ts';
