import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import { canReturn, findSharedAccounts, mayChangeAccounts } from '../../src/tools/accounts.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const alone = new Map([
  ['acme', { tool: 'studio' }],
  ['globex', { tool: 'atelier' }],
]);
const shared = new Map([...alone, ['initech', { tool: 'studio' }]]);
const { adapter: memory } = createMemoryTool('membership', { hasAccounts: true });
const reason = 'their login stays';
const adapter = {
  ...memory,
  capabilities: {
    ...memory.capabilities,
    keepingAccount: { removal: { effect: 'membership_only', reason }, readding: 'no' },
  },
} as const;

describe('changing accounts', () => {
  it.each([
    ['where one install has the tool', alone, [], true],
    ['where several share it', shared, [], false],
    ['where all addresses are the marketplace’s own', shared, ['opentrain.work'], true],
    ['where no trainer has it', new Map(), [], true],
  ])('%s', (_, installs, domains, expected) => {
    expect(mayChangeAccounts('studio', installs, domains)).toBe(expected);
  });

  it('makes a removal final if the account must stay and no trainer can be added again', () => {
    const adapters = new Map([['studio', adapter]]);
    const config = { marketplace: { managedDomains: [] } };
    const [own, ofSeveral] = [alone, shared].map((installs) => ({ adapters, installs, config }) as unknown as Context);
    expect([canReturn(own as Context, 'studio'), canReturn(ofSeveral as Context, 'studio')]).toEqual([true, false]);
  });

  it('warns where accounts are not changed, and what follows', () => {
    const adapters = new Map([
      ['studio', adapter],
      ['atelier', adapter],
      ['list', createMemoryTool().adapter],
    ]);
    expect(findSharedAccounts(adapters, alone, [])).toEqual([]);
    expect(findSharedAccounts(adapters, shared, ['opentrain.work'])).toEqual([]);
    const warning =
      'acme, initech share studio, and marketplace.managedDomains is not set, so Gangway ends, renames and activates no account in it; a removed member may still get in: their login stays; they cannot be added again';
    expect(findSharedAccounts(adapters, shared, [])).toEqual([{ tool: 'studio', warning }]);
  });
});
