import type { Role } from '../operations/operation.ts';

/** A person who is signed in to the console. `operator` may act, `viewer` only sees. */
export interface Operator {
  /** The name of their token in `console.tokens`. */
  name: string;
  role: Role;
}
