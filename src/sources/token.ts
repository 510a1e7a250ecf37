/**
 * A token, or what is asked before each request which token counts now, where it may be replaced meanwhile.
 *
 * @param refused the token that was just refused: another one may count now
 */
export type Token = string | ((refused?: string) => Promise<string>);

/** After this a request was answered, or is given up. */
export const longestRequestMs = 15_000;
