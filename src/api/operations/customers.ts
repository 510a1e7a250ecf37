import type { Context } from '../../context.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { describeSubscription } from '../../installs/subscription/describe-subscription.ts';
import { pageById, pageByKey } from '../../operations/cursor.ts';
import { listContracts } from '../../operator/list-contracts.ts';
import { listInstalls } from '../../operator/list-installs.ts';
import { listTokens } from '../../operator/list-tokens.ts';
import { listRuns } from '../../reconcile/runs/run-store.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  contractPage,
  contractQuery,
  endpointsAnswer,
  installsAnswer,
  ofInstallQuery,
  runPage,
  runQuery,
  tokensAnswer,
} from '../schemas/customer-schema.ts';

/** The customers that are connected: what is known of them, and what the marketplace says now. */

const tag = 'customers';

const listAllInstalls = defineOperation({
  id: 'listInstalls',
  method: 'get',
  path: '/installs',
  summary: 'The customers that are connected, when each was last read, and what is wrong',
  tag,
  answer: installsAnswer,
  run: async (_asked, ctx) => ({
    installs: await listInstalls(ctx, ctx.installs, ctx.clock.now()),
  }),
});

const contractsOfInstalls = defineOperation({
  id: 'listContracts',
  method: 'get',
  path: '/contracts',
  summary: 'What is known of the contracts: those with the least of their budget left come first',
  tag,
  query: contractQuery,
  answer: contractPage,
  run: ({ query: { install, status, budget, suspects, ...wish } }, ctx) =>
    pageByKey(
      'listContracts',
      { ...wish, parts: 3 },
      async (key, limit) => {
        const [left = '', ofInstall = '', contractId = ''] = key ?? [];
        const remainingFraction = left === '' ? null : Number(left);
        const after = key && { install: ofInstall, contractId, remainingFraction };
        return await listContracts(ctx, { install, status, budget, suspects, after, limit });
      },
      ({ install: ofInstall, contractId, remainingFraction }) => [
        String(remainingFraction ?? ''),
        ofInstall,
        contractId,
      ],
    ),
});

const listEndpoints = defineOperation({
  id: 'listEndpoints',
  method: 'get',
  path: '/endpoints',
  summary: 'How the webhook endpoints are doing, as the marketplace says now',
  tag,
  query: ofInstallQuery,
  answer: endpointsAnswer,
  async run({ query: { install }, signal }, ctx) {
    const endpoints = [];
    for (const name of pickInstalls(ctx, install)) {
      try {
        const described = await describeSubscription(ctx, name, signal);
        endpoints.push({ ...described, failure: null });
      } catch (error) {
        endpoints.push({ install: name, failure: toAppError(error).message });
      }
    }
    return { endpoints };
  },
});

const listAllTokens = defineOperation({
  id: 'listTokens',
  method: 'get',
  path: '/tokens',
  summary: "The tokens of employers' own accounts, as the marketplace has them now, without their secrets",
  tag,
  query: ofInstallQuery,
  answer: tokensAnswer,
  run: ({ query: { install }, signal }, ctx) => listTokens(ctx, pickInstalls(ctx, install), signal),
});

const listAllRuns = defineOperation({
  id: 'listRuns',
  method: 'get',
  path: '/runs',
  summary: 'The readings of installs of the last month and what followed from each, the newest first',
  tag,
  query: runQuery,
  answer: runPage,
  run: ({ query: { install, ...wish } }, ctx) =>
    pageById('listRuns', wish, (before, limit) => listRuns(ctx, { install, before, limit })),
});

/** @throws AppError `not_found` where the one that is named does not exist */
export function pickInstalls({ installs }: Context, named: string | undefined): string[] {
  if (named === undefined) return [...installs.keys()];
  if (installs.has(named)) return [named];
  throw new AppError('not_found', `There is no install ${named}`);
}

/** @throws AppError `conflict` where none is named and there is not exactly one */
export function pickInstall(ctx: Context, named: string | undefined): string {
  const [install, other] = pickInstalls(ctx, named);
  if (install !== undefined && other === undefined) return install;
  throw new AppError('conflict', 'There is not exactly one install: name one');
}

export const customerOperations = [listAllInstalls, contractsOfInstalls, listEndpoints, listAllTokens, listAllRuns];
