import { onTestFinished } from 'vitest';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { accountSettings, openAccountTool } from './account-tool.ts';
import { hasAddressOf, type OpenWatchedTool } from './watched-tool.ts';

/** By the adapter `http`, with all that it can do to an account. */
export const openWatchedHttp: OpenWatchedTool = async ({ foldsIds = false }) => {
  const tool = await openAccountTool(foldsIds);
  onTestFinished(() => tool.close());
  return {
    adapter: createAdapter('studio', 'http', accountSettings(tool)),
    watch: tool.watch,
    standing: tool.standing,
    groupOf: tool.fold,
    seed: ({ name, email, isActive, groups }) => [tool.seed({ name, email, isActive }, groups)],
    isAccountOf: (person, _account, state) => hasAddressOf(person, state),
  };
};
