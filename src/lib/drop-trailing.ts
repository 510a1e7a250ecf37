/**
 * A text without any of these characters at its end. A pattern such as `/x+$/` looks again from each `x`, which takes
 * the square of the length.
 */
export function dropTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
