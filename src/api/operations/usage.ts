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
  async run(_asked, { services: { usage }, installs }) {
    const held = await Array.fromAsync(listHeld(usage.deps));
    const lowerings = await listLowerings(usage.deps, [...installs.keys()]);
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
  run: ({ params, query: { install }, signal }, { services }) =>
    describeUsage(services, { ...params, install }, signal),
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
  async run({ params: { work: id }, body: { contract: contractId }, by }, { services: { usage }, database }) {
    await decideHeldWork({ database, usage: usage.deps, by }, id, contractId);
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
  async run({ query: { install, contract: contractId, from, to } }, parts) {
    const installs = pickInstalls(parts, install);
    await refuseUnknownContract(parts.database, contractId, install);
    const { deps } = parts.services.usage;
    const plans = await previewReport(deps, { installs, contractId, from, to });
    return { installs: plans, readings: await listReadings(deps) };
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
  async run({ body, by, signal }, parts) {
    const { database, services } = parts;
    const { install, contract: contractId, from, to, acceptLowered: acceptsLowered } = body;
    const installs = pickInstalls(parts, install);
    await refuseUnknownContract(database, contractId, install);
    const wanted = { installs, contractId, from, to, acceptsLowered };
    return await reportWork({ database, usage: services.usage, by }, wanted, { waitMs: readWithinMs, signal });
  },
});

const readWithinMs = 30_000;

export const usageOperations = [listHeldWork, getUsage, decideOneHeld, previewWork, reportNow];
