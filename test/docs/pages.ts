import { commandsPage } from './commands-page.ts';
import { configurationPage } from './configuration-page.ts';

/** The pages with a generated part. */
export const pages: Record<string, () => string> = {
  'docs/commands.md': commandsPage,
  'docs/configuration.md': configurationPage,
};
