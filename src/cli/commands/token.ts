import { defineCommand, defineGroup, jsonInsteadOfTable } from '../define-command.ts';
import { argument, repeatedOption, usesInstall } from '../options.ts';

export const tokenCommand = defineGroup('token', "the tokens of an employer's own account", [
  defineCommand({
    name: 'list',
    description: 'list them as the marketplace has them now, without their secrets',
    arguments: { install: argument('[install]', 'only those of the account of this install') },
    json: jsonInsteadOfTable,
    opens: 'services',
    uses: usesInstall,
    isDry: true,
    run: async () => (await import('../token-command.ts')).runTokenList,
    remote: async () => (await import('../remote/marketplace.ts')).askTokenList,
  }),
  defineCommand({
    name: 'rotate',
    description: 'replace the token by one with only the scopes that are needed, then revoke the old one',
    arguments: { install: argument('[install]', 'its name; not needed where there is one') },
    options: { keep: repeatedOption('<scope>', 'a scope of the old one to keep beside them, such as payments:write') },
    opens: 'services',
    uses: usesInstall,
    run: async () => (await import('../token-command.ts')).runTokenRotate,
    remote: async () => (await import('../remote/marketplace.ts')).askTokenRotate,
  }),
]);
