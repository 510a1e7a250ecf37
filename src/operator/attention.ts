/** Something that an operator has to look at, and what to do about it. */
export interface Attention {
  says: string;
  action: string;
  /** The page of the console where that can be done, if there is one. */
  page?: string;
  /** Where else a person acts: http or https. */
  url?: string;
}

export function ifAny(what: string, count: number, action: string, page?: string): Attention[] {
  return count === 0 ? [] : [{ says: `${what}: ${count}`, action, ...(page !== undefined && { page }) }];
}

/** A reading that fails once or twice is repeated by itself, and no operator has to act. */
export const worryingFailures = 3;
