import { randomInt } from 'node:crypto';

/** Each of a kind that some tool asks for. Nothing that is mistaken for something else. */
const kinds = ['abcdefghjkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.'] as const;
const length = 24;

/** A password that nobody has used, some 130 bits strong, and has a character of every kind. */
export function createPassword(): string {
  const all = kinds.join('');
  for (;;) {
    const password = Array.from({ length }, () => all[randomInt(all.length)]).join('');
    const hasEvery = kinds.every((kind) => [...kind].some((one) => password.includes(one)));
    // A sign at its end gets lost where the password is copied from a sentence.
    if (hasEvery && /[a-z\d]$/i.test(password)) return password;
  }
}
