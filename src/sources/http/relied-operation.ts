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
}
