import type { Context } from '../../context.ts';
import { listGuidelines } from '../../guidelines/guideline-store.ts';
import { compareGuidelines, installsWithGuidelines } from '../../operator/guidelines/compare-guidelines.ts';
import { syncGuidelines } from '../../operator/guidelines/sync-guidelines.ts';
import { defineOperation } from '../operation-schema.ts';
import { ofInstallQuery } from '../schemas/customer-schema.ts';
import { comparedAnswer, compareQuery, guidelinesAnswer, syncBody, syncedAnswer } from '../schemas/guideline-schema.ts';
import { pickInstalls } from './customers.ts';

/** What manuals publish, and what the tools show as guidelines. */

const tag = 'guidelines';

const listAllGuidelines = defineOperation({
  id: 'listGuidelines',
  method: 'get',
  path: '/guidelines',
  summary: 'What was written as the guidelines of projects, and what the last look found',
  tag,
  query: ofInstallQuery,
  answer: guidelinesAnswer,
  async run({ query: { install } }, ctx) {
    const rows = await listGuidelines(ctx);
    return { guidelines: rows.filter((row) => install === undefined || row.install === install) };
  },
});

const getComparedGuidelines = defineOperation({
  id: 'compareGuidelines',
  method: 'get',
  path: '/guidelines/compared',
  summary: 'What is published for projects, and what their tools show, both as they are now; nothing is changed',
  tag,
  query: compareQuery,
  answer: comparedAnswer,
  run: ({ query: { install, project }, signal }, ctx) => compareGuidelines(ctx, pick(ctx, install), project, signal),
});

const syncNow = defineOperation({
  id: 'syncGuidelines',
  method: 'post',
  path: '/guidelines/sync',
  summary: 'Write what is published into the tools, where they show what was written last',
  tag,
  body: syncBody,
  answer: syncedAnswer,
  run: ({ body: { install, project, overwrite = false }, by, signal }, ctx) =>
    syncGuidelines(ctx, pick(ctx, install), { project, overwrites: overwrite, by }, signal),
});

function pick(ctx: Context, named: string | undefined): string[] {
  return named === undefined ? installsWithGuidelines(ctx) : pickInstalls(ctx, named);
}

export const guidelineOperations = [listAllGuidelines, getComparedGuidelines, syncNow];
