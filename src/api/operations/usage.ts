import { decideHeldWork } from '../../operator/decide-work.ts';
import { describeUsage } from '../../operator/describe-usage.ts';
import { refuseUnknownContract, reportWork } from '../../operator/report-work.ts';
import { previewReport } from '../../usage/report/preview-report.ts';
import { listHeld } from '../../usage/show/decide-held.ts';
import { listLowerings } from '../../usage/show/list-lowerings.ts';
import { listReadings } from '../../usage/show/list-readings.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  contractUsageAnswer,
  contractUsageParams,
  contractUsageQuery,
  decidedHeldAnswer,
  decideHeldBody,
  heldAnswer,
  heldParams,
  reportBody,
  reportedAnswer,
  reportPreviewAnswer,
  reportPreviewQuery,
} from '../schemas/usage-schema.ts';
import { pickInstalls } from './customers.ts';

/** The work done in the tools, and what is reported of it to the marketplace. */

const tag = 'usage';

const listHeldWork = defineOperation({
  id: 'listHeldWork',
  method: 'get',
  path: '/usage/held',
  summary: 'Work that is not reported before an operator decides, and days that were lowered',
  tag,
  answer: heldAnswer,
  async run(_asked, ctx) {
    const held = await Array.fromAsync(listHeld(ctx));
    const lowerings = await listLowerings(ctx, [...ctx.installs.keys()]);
    return { held, lowerings };
  },
});

const getUsage = defineOperation({
  id: 'getUsage',
  method: 'get',
  path: '/contracts/{contract}/usage',
  summary: 'The work on a contract that was seen and sent, and why these differ',
  tag,
  params: contractUsageParams,
  query: contractUsageQuery,
  answer: contractUsageAnswer,
  run: ({ params, query: { install }, signal }, ctx) => describeUsage(ctx, { ...params, install }, signal),
});

const decideOneHeld = defineOperation({
  id: 'decideHeldWork',
  method: 'post',
  path: '/usage/held/{work}',
  summary: 'Say which contract held work is of, or that it is never reported',
  tag,
  params: heldParams,
  body: decideHeldBody,
  answer: decidedHeldAnswer,
  async run({ params: { work: id }, body: { contract: contractId }, by }, ctx) {
    await decideHeldWork(ctx, by, id, contractId);
    return { id, contractId };
  },
});

const previewWork = defineOperation({
  id: 'previewReport',
  method: 'get',
  path: '/usage/report',
  summary: 'What a report would send by the latest readings, and what would be held',
  tag,
  query: reportPreviewQuery,
  answer: reportPreviewAnswer,
  async run({ query: { install, contract: contractId, from, to } }, ctx) {
    const installs = pickInstalls(ctx, install);
    await refuseUnknownContract(ctx, contractId, install);
    const plans = await previewReport(ctx, { installs, contractId, from, to });
    return { installs: plans, readings: await listReadings(ctx) };
  },
});

const reportNow = defineOperation({
  id: 'reportUsage',
  method: 'post',
  path: '/usage/report',
  summary: 'Read the work in the tools, and report what has changed',
  tag,
  body: reportBody,
  answer: reportedAnswer,
  async run({ body, by, signal }, ctx) {
    const { install, contract: contractId, from, to, acceptLowered: acceptsLowered } = body;
    const installs = pickInstalls(ctx, install);
    await refuseUnknownContract(ctx, contractId, install);
    const wanted = { installs, contractId, from, to, acceptsLowered };
    return await reportWork(ctx, by, wanted, { waitMs: readWithinMs, signal });
  },
});

const readWithinMs = 30_000;

export const usageOperations = [listHeldWork, getUsage, decideOneHeld, previewWork, reportNow];
