import { randomInt } from 'node:crypto';

/** Some tools require a character of each of these kinds. Characters that look alike are left out. */
const kinds = ['abcdefghjkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.'] as const;
const length = 24;

/** A new random password, some 130 bits strong, with a character of every kind. */
export function createPassword(): string {
  const all = kinds.join('');
  for (;;) {
    const password = Array.from({ length }, () => all[randomInt(all.length)]).join('');
    const hasEvery = kinds.every((kind) => [...kind].some((one) => password.includes(one)));
    // A punctuation mark at the end would get lost when the password is copied from a sentence.
    if (hasEvery && /[a-z\d]$/i.test(password)) return password;
  }
}
