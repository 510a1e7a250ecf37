import { defineCommand } from '../define-command.ts';
import { argument, flag, option, usesInstall } from '../options.ts';

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
