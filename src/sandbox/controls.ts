import express, { type Request, type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import * as contracts from './contract-control.ts';
import * as wants from './control-request-schema.ts';
import { advance, idle } from './dispatcher.ts';
import * as accounts from './employer/account-control.ts';
import { employerRoutes } from './employer/employer-api.ts';
import * as manuals from './employer/manual-control.ts';
import { type Fault, type Faults, SetFaults, type WantedFaults } from './faults/faults-schema.ts';
import * as installs from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { platformRoutes } from './platform-api.ts';
import { parseRequest, type RequestSchema } from './platform-request-schema.ts';
import { removeLiveLink, replaceLiveLink } from './project-link-route.ts';
import { findIn } from './sandbox-state.ts';
import { takeDeliverySnapshots, takeSnapshot } from './snapshot.ts';

/**
 * What customers and employers do at the marketplace, and its clock. Each control is a method of the sandbox, and a POST
 * below `/sandbox` that answers what the method returns.
 */
const controls = {
  createInstall: control('/installs', installs.createInstall, wants.NewInstall),
  setPiiConsent: control('/installs/:id/consent', installs.setPiiConsent, wants.Consent),
  revokeInstall: control('/installs/:id/revoke', installs.revokeInstall),
  revokeToken: control('/installs/:id/revoke-token', installs.revokeToken),
  reconnect: control('/installs/:id/reconnect', installs.reconnect),

  removeLink: control('/links/:id/remove', removeLiveLink),
  relink: control('/links/:id/relink', replaceLiveLink, wants.Relink),

  createJob: control('/jobs', contracts.createJob, wants.NewJob),
  hire: control('/contracts', contracts.hire, wants.Hire),
  endContract: control('/contracts/:id/end', contracts.endContract, wants.End),
  raiseMistakenEnd: control('/contracts/:id/mistaken-end', contracts.raiseMistakenEnd),
  fundMilestone: control('/contracts/:id/fund', contracts.fundMilestone, wants.Funding),
  replaceParticipant: control('/contracts/:id/replace-participant', contracts.replaceParticipant, wants.Replacement),

  createAccount: control('/accounts', accounts.createAccount, wants.NewAccount),
  revokeAccountTokens: control('/accounts/:id/revoke-tokens', accounts.revokeAccountTokens),
  raiseNews: control('/accounts/:id/news', accounts.raiseNews, wants.FeedNews),
  setWorkEmail: control('/trainers/:id/work-email', accounts.setWorkEmail, wants.WorkEmail),
  billContract: control('/contracts/:id/bill', accounts.billContract, wants.Bill),
  settlePayment: control('/payments/:id/settle', accounts.settlePayment, wants.Settle),
  resolveApproval: control('/approvals/:id/resolve', accounts.resolveApproval, wants.Resolve),

  createManual: control('/accounts/:id/manuals', manuals.createManual, wants.NewManual),
  editPage: control('/pages/:id/edit', manuals.editPage, wants.PageEdit),
  publishManual: control('/manuals/:id/publish', manuals.publishManual, wants.NewPublication),
  bindManual: control('/manuals/:id/bind', manuals.bindManual, wants.NewBindings),
  archiveManual: control('/manuals/:id/archive', manuals.archiveManual),

  advance: control('/advance', advance, wants.Advance),
  idle: control('/idle', idle),
};

/** Gets the id in its path, if there is one, and the body. */
type Act<Wanted> =
  | ((marketplace: Marketplace, id: string, wanted: Wanted) => object)
  | ((marketplace: Marketplace, wanted: Wanted) => object);

function control<Wanted, Does extends Act<Wanted>>(path: string, act: Does, schema?: RequestSchema<Wanted>) {
  return { path, act, schema: schema ?? wants.Nothing };
}

async function answerControl(
  marketplace: Marketplace,
  { path, act, schema }: { path: string; act: (...all: never[]) => object; schema: RequestSchema<unknown> },
  id: string,
  body: unknown,
): Promise<object> {
  const wanted = parseRequest(schema, body);
  const run = act as (marketplace: Marketplace, ...wanted: unknown[]) => object;
  return await (path.includes(':id') ? run(marketplace, id, wanted) : run(marketplace, wanted));
}

/** Without the marketplace argument. A control that waits returns nothing in process. */
type Method<Does> = Does extends (marketplace: Marketplace, ...wanted: infer Wanted) => infer Done
  ? (...wanted: Wanted) => Done extends Promise<unknown> ? Promise<void> : Done
  : never;

export type Control = { [Name in keyof typeof controls]: Method<(typeof controls)[Name]['act']> } & {
  /** Replaces the faults of one install or of all; without `faults`, ends them. */
  setFaults: Method<typeof setFaults>;
  snapshot: Method<typeof takeSnapshot>;
  listDeliveries: Method<typeof takeDeliverySnapshots>;
};

export function createControl(marketplace: Marketplace): Control {
  const acts = Object.entries(controls).map(([name, { act }]) => {
    const run = act as (marketplace: Marketplace, ...wanted: unknown[]) => unknown;
    return [name, (...wanted: unknown[]) => run(marketplace, ...wanted)];
  });
  return {
    ...(Object.fromEntries(acts) as Pick<Control, keyof typeof controls>),
    setFaults: (installId, faults) => setFaults(marketplace, installId, faults),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => takeDeliverySnapshots(marketplace),
  };
}

export interface FaultsInForce {
  /** Null for all installs. */
  installId: string | null;
  faults: Faults;
}

/**
 * Replaces the faults of one install, one employer's account, or all. Without `wanted`, ends them.
 */
function setFaults(
  { state, dice }: Marketplace,
  installId: string | undefined,
  wanted: WantedFaults = {},
): FaultsInForce {
  const { faults = {} } = parseRequest(SetFaults, { faults: wanted });
  if (installId !== undefined && !state.accounts.has(installId)) findIn(state.installs, 'install', installId);
  requireOperations(faults);
  dice.setFaults(installId, faults);
  return { installId: installId ?? null, faults };
}

/** A fault of an unknown operation would never happen, without an explanation. */
function requireOperations(faults: Faults): void {
  const known: string[] = [...new Set([...platformRoutes, ...employerRoutes].map(({ operation }) => operation))];
  const all: [string, Fault | undefined][] = Object.entries(faults);
  for (const [kind, fault] of all) {
    const unknown = fault?.operations?.find((operation) => !known.includes(operation));
    if (unknown === undefined) continue;
    const problem = `no operation "${unknown}"; there are ${known.join(', ')}`;
    throw new AppError('invalid', `faults.${kind}.operations: ${problem}`);
  }
}

/** The controls over HTTP. They need no token, so only programs on this machine may use them. */
export function createControlRouter(marketplace: Marketplace): Router {
  const router = express.Router();
  router.use(refuseRemote, express.json({ type: () => true }));
  for (const control of Object.values(controls)) {
    router.post(control.path, async ({ params, body }, response) => {
      response.json(await answerControl(marketplace, control, String(params['id'] ?? ''), body ?? {}));
    });
  }
  router.post('/faults', ({ body }, response) => {
    const { installId, faults } = parseRequest(SetFaults, body ?? {});
    response.json(setFaults(marketplace, installId, faults));
  });
  router.get('/state', (_request, response) => {
    response.json(takeSnapshot(marketplace));
  });
  router.get('/deliveries', (_request, response) => {
    response.json({ deliveries: takeDeliverySnapshots(marketplace) });
  });
  router.use(() => {
    throw new AppError('not_found', 'The sandbox has no such control');
  });
  return router;
}

/** The sandbox may listen on the network. Pages in a browser are refused too, because they may come from anywhere. */
const refuseRemote: RequestHandler = (request, _response, next) => {
  if (!isLoopback(request) || request.headers.origin !== undefined) {
    throw new AppError('forbidden', 'The controls answer only programs on this machine');
  }
  next();
};

function isLoopback({ socket: { remoteAddress = '' } }: Request): boolean {
  return remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress);
}
