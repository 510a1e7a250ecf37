/** `npm run docs` writes the text between these lines of a page. The rest is written by hand. */
const begin = '<!-- Made by `npm run docs`, to the next line of this kind. -->';
const end = '<!-- Written by hand again. -->';
/** In a page without an end, all that follows this line is made. */
const rest = '<!-- The rest is made by `npm run docs`. -->';

/** The page with its generated part as it has to be now. */
export function renewPage(text: string, generate: () => string): string {
  const [before = '', made] = text.split(begin);
  if (made === undefined) return `${writtenByHand(text)}${rest}\n\n${generate()}\n`;
  return `${before}${begin}\n\n${generate()}\n\n${end}${made.split(end)[1] ?? ''}`;
}

/** A page without a generated part is written by hand as a whole. */
export function writtenByHand(text: string): string {
  const [before = '', made = ''] = text.split(begin);
  const [byHand = ''] = before.split(rest);
  return byHand + (made.split(end)[1] ?? '');
}
