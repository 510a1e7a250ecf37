import type { Context } from '../../context.ts';
import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import { findConnectedInstall } from '../../installs/install-store.ts';
import { redeliver } from '../../installs/subscription/describe-subscription.ts';
import { rotateToken } from '../../installs/tokens/rotate-token.ts';
import { establishInstall } from '../../operator/connect/connect-install.ts';
import { type Connecting, settleWish, toToken } from '../../operator/connect/settle-wish.ts';
import { decideContract } from '../../operator/decide-contract.ts';
import type { Check } from '../../operator/doctor-checks.ts';
import { previewAll } from '../../operator/preview-all.ts';
import { removeInstall } from '../../operator/remove-install.ts';
import { rotateSecret } from '../../operator/rotate-secret.ts';
import { wantRead } from '../../operator/want-read.ts';
import { wantRead as wantInstallRead } from '../../reconcile/read/install-state-store.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  connectBody,
  connectedAnswer,
  contractParams,
  decidedContractAnswer,
  installAnswer,
  installParams,
  ofInstallBody,
  previewedAnswer,
  readAnswer,
  readBody,
  redeliverBody,
  redeliveredAnswer,
  removeInstallBody,
  rotatedAnswer,
  rotatedTokenAnswer,
  rotateTokenBody,
} from '../schemas/customer-schema.ts';
import { pickInstalls } from './customers.ts';

/** What operators change about customers: here and at the marketplace. */

const tag = 'customers';

const readInstalls = defineOperation({
  id: 'readInstalls',
  method: 'post',
  path: '/installs/read',
  summary: 'Have installs read from the marketplace now; what is found is applied, as by the schedule',
  tag,
  body: readBody,
  answer: readAnswer,
  async run({ body: { install }, by }, ctx) {
    const installs = pickInstalls(ctx, install).sort();
    await wantRead(ctx, by, installs);
    return { installs, wantedAt: by.at };
  },
});

const previewInstalls = defineOperation({
  id: 'previewInstalls',
  method: 'post',
  path: '/installs/preview',
  summary: 'Read installs from the marketplace and say what that would change; nothing is changed',
  tag,
  body: readBody,
  answer: previewedAnswer,
  async run({ body: { install }, signal }, ctx) {
    const installs = pickInstalls(ctx, install).sort();
    return { installs: await previewAll(ctx, installs, signal, () => undefined) };
  },
});

const connectInstall = defineOperation({
  id: 'connectInstall',
  method: 'post',
  path: '/installs/{install}/connect',
  summary: 'Connect a customer or your own account, or connect them again with another token',
  tag,
  params: installParams,
  body: connectBody,
  answer: connectedAnswer,
  async run({ params: { install }, body, by, signal }, ctx) {
    const { token, jobs = [], tool, projects, move: mayMove = false, relink = false } = body;
    const hasToken = token !== undefined;
    const wanted = { install, source: body.source, jobs, hasToken, tool, projects };
    const { source, destination, configured } = settleWish(ctx, wanted);
    const used = configured ?? (hasToken ? toToken(token) : (await findConnectedInstall(ctx, install))?.token);
    if (used === undefined) throw new AppError('invalid', `There is no token for ${install} yet: send one`);
    const wish: Connecting = {
      install,
      source,
      token: used,
      jobs,
      destination,
      acceptsOrphans: body.acceptOrphans === true,
      acceptsOtherCustomer: body.acceptOtherCustomer === true,
    };
    const checks: Check[] = [];
    const connector = {
      registry: ctx.registry,
      by,
      mayMove,
      confirm: async () => relink,
      onStep: (check: Check) => void checks.push(check),
    };
    const { grant, links, relinked, missing } = await establishInstall(ctx, connector, wish, signal);
    await inTransaction(ctx.database, (tx) => wantInstallRead(tx, [install], by.at, 'operator'));
    return { install, grant, links, relinked, missing, checks, wantedAt: by.at };
  },
});

const forgetInstall = defineOperation({
  id: 'removeInstall',
  method: 'post',
  path: '/installs/{install}/remove',
  summary: 'Forget an install that was connected by command, with its token; its people stay in the tools',
  tag,
  params: installParams,
  body: removeInstallBody,
  answer: installAnswer,
  async run({ params, body: { acceptOrphans }, by }, ctx) {
    const install = findInstall(ctx, params.install);
    await removeInstall(ctx, by, install, acceptOrphans === true);
    await ctx.registry.load();
    ctx.reports.delete(`connect ${install}`);
    return { install };
  },
});

const rotateEndpoint = defineOperation({
  id: 'rotateEndpoint',
  method: 'post',
  path: '/installs/{install}/endpoint/rotate',
  summary: 'Replace the webhook endpoint and its secret, without a gap',
  tag,
  params: installParams,
  answer: rotatedAnswer,
  async run({ params, by, signal }, ctx) {
    const install = findInstall(ctx, params.install);
    return { install, ...(await rotateSecret(ctx, by, install, signal)) };
  },
});

const renewToken = defineOperation({
  id: 'rotateToken',
  method: 'post',
  path: '/installs/{install}/token/rotate',
  summary: "Replace the token of an employer's own account, and revoke the old one",
  tag,
  params: installParams,
  body: rotateTokenBody,
  answer: rotatedTokenAnswer,
  async run({ params, body: { keep = [] }, by, signal }, ctx) {
    const install = findInstall(ctx, params.install);
    return { install, ...(await rotateToken(ctx, ctx.registry, install, { keep, by }, signal)) };
  },
});

const redeliverEvents = defineOperation({
  id: 'redeliver',
  method: 'post',
  path: '/installs/{install}/endpoint/redeliver',
  summary: 'Have the marketplace send again what failed',
  tag,
  params: installParams,
  body: redeliverBody,
  answer: redeliveredAnswer,
  async run({ params, body: { delivery }, by, signal }, ctx) {
    const install = findInstall(ctx, params.install);
    const asked = await redeliver(ctx, install, delivery, signal);
    await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'endpoint redeliver', install));
    return { install, ...asked };
  },
});

const decisions = [
  ['end', 'Say that a contract has ended, for when the marketplace cannot be reached'],
  ['reopen', 'Say that a contract goes on, although its end was delivered: the marketplace is read at once'],
] as const;

const contractActs = decisions.map(([decision, summary]) =>
  defineOperation({
    id: `${decision}Contract`,
    method: 'post',
    path: `/contracts/{contract}/${decision}`,
    summary,
    tag,
    params: contractParams,
    body: ofInstallBody,
    answer: decidedContractAnswer,
    run: async ({ params: { contract: contractId }, body: { install: named }, by }, ctx) => {
      const { install } = await decideContract(ctx, by, decision, contractId, named);
      return { install, contractId, decision };
    },
  }),
);

function findInstall(ctx: Context, named: string): string {
  const [install = named] = pickInstalls(ctx, named);
  return install;
}

export const customerActs = [
  readInstalls,
  previewInstalls,
  connectInstall,
  forgetInstall,
  rotateEndpoint,
  renewToken,
  redeliverEvents,
  ...contractActs,
];
