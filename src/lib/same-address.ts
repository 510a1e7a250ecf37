/** Whether two e-mail addresses are equal. Case never matters. Two missing addresses are not equal. */
export function isSameAddress(one: string | null, other: string | null): boolean {
  return one !== null && one.toLowerCase() === other?.toLowerCase();
}
