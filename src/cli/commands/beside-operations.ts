import { defineCommand } from '../define-command.ts';
import { argument, flag, option, usesInstall } from '../options.ts';

/** Commands of nouns that are no operations: they work with files or ask at the terminal. */

export const importCommand = defineCommand({
  name: 'import',
  description: 'Take in work from a file, for a tool that cannot be asked about it',
  arguments: { file: argument('<file>', 'A .csv or .ndjson; "gangway usage template" prints one to start from') },
  options: {
    install: option('<name>', 'Of which install, where there are several'),
    yes: flag('Do not ask'),
  },
  notes: `A file counts whole or not at all. Of the same person, contract or project, and day, each count is that of
the latest file that has it.
Exit status: 0 done, 1 failed or something in the file is wrong, 2 not confirmed, 64 used wrongly.`,
  misuse: ({ file }) => !/\.(csv|ndjson|jsonl)$/i.test(file) && 'the file must be a .csv or an .ndjson',
  opens: 'services',
  run: async () => (await import('../usage-import-command.ts')).runUsageImport,
  remote: async () => (await import('../usage-import-command.ts')).askUsageImport,
});

export const templateCommand = defineCommand({
  name: 'template',
  description: 'Print a file to start an import from: every column, and two example lines',
  options: { ndjson: flag('As one JSON object a line instead of CSV') },
  json: 'Print one JSON object with the file in it',
  run: async () => (await import('../usage-import-command.ts')).runUsageTemplate,
  local: 'it asks nobody',
});

export const endAtMarketplaceCommand = defineCommand({
  name: 'end-at-marketplace',
  description: 'End a contract of your own account at the marketplace: for good, and never undone',
  arguments: { contract: argument('<contract>', 'Its id') },
  options: {
    install: option('<name>', 'Its install, if several have a contract with this id'),
    confirm: option('<contract>', 'Its id once more, instead of typing it'),
    leave: flag('Do not wait until a person at the marketplace has decided'),
  },
  opens: 'storage',
  uses: usesInstall,
  run: async () => (await import('../end-contract-command.ts')).runContractsEndAtMarketplace,
  local: 'it asks at the terminal',
});
