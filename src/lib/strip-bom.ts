/** Removes the byte order mark that some editors and tools write at the beginning of a text. */
export function stripBom(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
