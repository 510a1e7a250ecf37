/** Whether two e-mail addresses are one: their case never matters. No address is like no other. */
export function isSameAddress(one: string | null, other: string | null): boolean {
  return one !== null && one.toLowerCase() === other?.toLowerCase();
}
