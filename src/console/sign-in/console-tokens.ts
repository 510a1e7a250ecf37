import { timingSafeEqual } from 'node:crypto';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Role } from '../../operations/operation.ts';
import type { Operator } from '../operator.ts';

export type ConsoleTokens = ReturnType<typeof createConsoleTokens>;

export interface TokenOwner extends Operator {
  /** Binds a session to the token: a digest from which the token cannot be found. */
  proof: string;
}

/** The tokens that operators sign in with, of `console.tokens`. */
export function createConsoleTokens(
  configured: ReadonlyMap<string, { token: string; role: Role }>,
  box: Pick<SecretBox, 'digest'>,
) {
  const proofOf = (token: string) => box.digest(`console.token:${token}`);
  const owners = [...configured].map(([name, { token, role }]): TokenOwner => ({ name, role, proof: proofOf(token) }));
  return {
    /** The first who may act. */
    operator: owners.find(({ role }) => role === 'operator'),
    isEmpty: owners.length === 0,
    /** Whose token it is. How long it takes says nothing about the tokens that exist. */
    find(token: string): TokenOwner | undefined {
      const proof = proofOf(token);
      const [owner] = owners.filter((one) => isSameText(one.proof, proof));
      return owner;
    },
    /** The owner with this name, while their token is still the one with this proof. */
    findBound: (name: string, proof: string) => owners.find((one) => one.name === name && isSameText(one.proof, proof)),
  };
}

/** Compares in constant time. */
export function isSameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
