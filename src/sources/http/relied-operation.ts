/** The part of a value that Gangway relies on: a kind of text or number, words, a list, or a record. */
export type Shape = 'text' | 'id' | 'number' | 'flag' | Set<string> | [Shape] | Fields;

/**
 * A record. The `?` behind a name says: in an answer, the field is only shown or not always there; in a
 * request, it is not always sent.
 */
export interface Fields {
  [name: string]: Shape;
}

export interface ReliedOperation {
  /** Its path is below the base address and has `{id}` for an id. */
  operation: string;
  query?: Fields;
  body?: Fields;
  answer: Fields;
  /** Whether what is at the heart goes on without it: then a change is only information. */
  isBeside?: boolean;
}

export const words = (...all: string[]): Shape => new Set(all);

/** Fields of one shape that are not always there. */
export const maybe = (shape: Shape, ...names: string[]): Fields =>
  Object.fromEntries(names.map((name) => [`${name}?`, shape]));

/** Both APIs of the marketplace have the same one. */
export const reliedBudget: Fields = {
  contractId: 'id',
  state: words('OK', 'LOW', 'DEPLETED'),
  ...maybe('text', 'paymentType', 'lastUsageAt'),
  ...maybe('number', 'fundedVolume', 'fundedAmountUsd', 'consumedVolume', 'remainingVolume', 'consumedFraction'),
  'consumed?': maybe('number', 'seconds', 'hours', 'labels', 'tasks'),
};
