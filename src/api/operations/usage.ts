import { pickInstalls } from '../../operations/values.ts';
import { checkWork, recountWork } from '../../operator/check-work.ts';
import { describeUsage } from '../../operator/describe-usage.ts';
import { listHeldWork } from '../../operator/held-work.ts';
import { refuseUnknownContract, reportWork } from '../../operator/report-work.ts';
import { decideHeld, decideLate, takeBackDecision } from '../../usage/due/decide-held.ts';
import { previewReport } from '../../usage/report/preview-report.ts';
import { listReadings } from '../../usage/show/list-readings.ts';
import { defineOperation } from '../operation-schema.ts';
import { checkAnswer, checkQuery, recountAnswer } from '../schemas/check-schema.ts';
import {
  contractUsageAnswer,
  contractUsageParams,
  contractUsageQuery,
  decidedHeldAnswer,
  decidedLateAnswer,
  decideHeldBody,
  decideLateBody,
  heldAnswer,
  heldParams,
  heldQuery,
  lateParams,
  reportBody,
  reportedAnswer,
  reportPreviewAnswer,
  reportPreviewQuery,
  takenBackAnswer,
} from '../schemas/usage-schema.ts';

/** The work done in the tools, and what is reported of it to the marketplace. */

const tag = 'usage';

const listAllHeld = defineOperation({
  id: 'listHeldWork',
  method: 'get',
  path: '/usage/held',
  summary: 'Work that is not reported before an operator decides, late changes, and days that were lowered',
  tag,
  query: heldQuery,
  answer: heldAnswer,
  run: ({ query: { decided } }, ctx) => listHeldWork(ctx, decided),
});

const getUsage = defineOperation({
  id: 'getUsage',
  method: 'get',
  path: '/contracts/{contract}/usage',
  summary: 'The work on a contract that is due and was sent, and why these differ',
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
    await decideHeld(ctx, by, id, contractId);
    return { id, contractId };
  },
});

const takeBack = defineOperation({
  id: 'takeBackHeldWork',
  method: 'post',
  path: '/usage/held/{work}/take-back',
  summary: 'Take a decision about held work back',
  tag,
  params: heldParams,
  answer: takenBackAnswer,
  async run({ params: { work: id }, by }, ctx) {
    await takeBackDecision(ctx, by, id);
    return { id, takenBack: true as const };
  },
});

const decideOneLate = defineOperation({
  id: 'decideLateDay',
  method: 'post',
  path: '/usage/late/{day}',
  summary: 'Send or dismiss what changed after its day was sent for the last time',
  tag,
  params: lateParams,
  body: decideLateBody,
  answer: decidedLateAnswer,
  async run({ params: { day: id }, body: { send: sent }, by }, ctx) {
    await decideLate(ctx, by, id, sent);
    return { id, sent };
  },
});

const checkAllWork = defineOperation({
  id: 'checkUsage',
  method: 'get',
  path: '/usage/check',
  summary: 'What the sources have, what is due and what the marketplace answered, and why they differ',
  tag,
  query: checkQuery,
  answer: checkAnswer,
  async run({ query: { install, contract: contractId, from, to, all = false } }, ctx) {
    const installs = pickInstalls(ctx, install);
    await refuseUnknownContract(ctx, contractId, install);
    return await checkWork(ctx, { installs, contractId, from, to, isAll: all });
  },
});

const recount = defineOperation({
  id: 'recountUsage',
  method: 'post',
  path: '/usage/recount',
  summary: 'Work out anew from the sources what is due, and mend what was stored',
  tag,
  answer: recountAnswer,
  run: ({ signal }, ctx) => recountWork(ctx, signal),
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

export const usageOperations = [
  listAllHeld,
  getUsage,
  decideOneHeld,
  takeBack,
  decideOneLate,
  checkAllWork,
  recount,
  previewWork,
  reportNow,
];
