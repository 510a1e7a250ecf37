import { commandsPage } from './commands-page.ts';
import { configurationPage } from './configuration-page.ts';

/** What follows this line in a page is made by `npm run docs`; what stands before it is written by hand. */
const mark = '<!-- The rest is made by `npm run docs`. -->';

export const pages: Record<string, () => string> = {
  'docs/commands.md': commandsPage,
  'docs/configuration.md': configurationPage,
};

/** The page with its generated part as it has to be now. */
export function renewPage(text: string, generate: () => string): string {
  const [byHand = ''] = text.split(mark);
  return `${byHand}${mark}\n\n${generate()}\n`;
}
