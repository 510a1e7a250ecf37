import { defineCommand } from '../define-command.ts';
import { argument, flag, option, usesInstall } from '../options.ts';

export const endAtMarketplaceCommand = defineCommand({
  name: 'end-at-marketplace',
  description: 'end a contract of your own account at the marketplace: for good, and never undone',
  arguments: { contract: argument('<contract>', 'its id') },
  options: {
    install: option('<name>', 'its install, if several have a contract with this id'),
    confirm: option('<contract>', 'its id once more, instead of typing it'),
    leave: flag('do not wait until a person at the marketplace has decided'),
  },
  opens: 'storage',
  uses: usesInstall,
  run: async () => (await import('../end-contract-command.ts')).runContractsEndAtMarketplace,
  local: 'it asks at the terminal',
});
