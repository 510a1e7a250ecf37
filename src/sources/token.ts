/** A token, or a function that is called before each request, where the token may be replaced meanwhile. */
export type Token = string | (() => Promise<string>);
