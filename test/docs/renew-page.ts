/** What follows this line in a page is made by `npm run docs`; what stands before it is written by hand. */
const mark = '<!-- The rest is made by `npm run docs`. -->';

/** The page with its generated part as it has to be now. */
export function renewPage(text: string, generate: () => string): string {
  return `${writtenByHand(text)}${mark}\n\n${generate()}\n`;
}

/** A page without a generated part is written by hand as a whole. */
export function writtenByHand(text: string): string {
  const [byHand = ''] = text.split(mark);
  return byHand;
}
