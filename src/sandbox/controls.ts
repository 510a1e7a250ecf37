import express, { type Request, type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import * as contracts from './contract-control.ts';
import * as wants from './control-request-schema.ts';
import { advance, idle } from './dispatcher.ts';
import * as accounts from './employer/account-control.ts';
import * as approvals from './employer/approvals.ts';
import { employerRoutes } from './employer/employer-api.ts';
import { authRoutes } from './employer/identity-routes.ts';
import * as manuals from './employer/manual-control.ts';
import * as messages from './employer/message-control.ts';
import { nameOf } from './faults/fault-dice.ts';
import { type Fault, type Faults, SetFaults, type WantedFaults } from './faults/faults-schema.ts';
import * as installs from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { type ControlSchema, parseControl } from './parse-request.ts';
import { platformRoutes } from './platform-api.ts';
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
  propose: control('/proposals', contracts.propose, wants.NewProposal),
  hire: control('/contracts', contracts.hire, wants.Hire),
  endContract: control('/contracts/:id/end', contracts.endContract, wants.End),
  raiseMistakenEnd: control('/contracts/:id/mistaken-end', contracts.raiseMistakenEnd),
  fundMilestone: control('/contracts/:id/fund', contracts.fundMilestone, wants.Funding),
  replaceParticipant: control('/contracts/:id/replace-participant', contracts.replaceParticipant, wants.Replacement),

  createAccount: control('/accounts', accounts.createAccount, wants.NewAccount),
  claimAccount: control('/accounts/:id/claim', accounts.claimAccount),
  setAccount: control('/accounts/:id/set', accounts.setAccount, wants.AccountSwitches),
  setRegistration: control('/registration', accounts.setRegistration, wants.Registration),
  revokeAccountTokens: control('/accounts/:id/revoke-tokens', accounts.revokeAccountTokens),
  raiseNews: control('/accounts/:id/news', accounts.raiseNews, wants.FeedNews),
  setWorkEmail: control('/trainers/:id/work-email', accounts.setWorkEmail, wants.WorkEmail),
  billContract: control('/contracts/:id/bill', accounts.billContract, wants.Bill),
  settlePayment: control('/payments/:id/settle', accounts.settlePayment, wants.Settle),
  resolveApproval: control('/approvals/:id/resolve', approvals.resolveApproval, wants.Resolve),

  createManual: control('/accounts/:id/manuals', manuals.createManual, wants.NewManual),
  editPage: control('/pages/:id/edit', manuals.editPage, wants.PageEdit),
  publishManual: control('/manuals/:id/publish', manuals.publishManual, wants.NewPublication),
  bindManual: control('/manuals/:id/bind', manuals.bindManual, wants.NewBindings),
  archiveManual: control('/manuals/:id/archive', manuals.archiveManual),

  openChannel: control('/jobs/:id/channel', messages.openChannel, wants.NewChannel),
  writeMessage: control('/conversations/:id/messages', messages.writeMessage, wants.NewMessage),
  restrictConversation: control('/conversations/:id/refusal', messages.restrictConversation, wants.SendRefusal),
  setMessageState: control('/messages/:id/state', messages.setMessageState, wants.MessageState),
  observeMail: control('/jobs/:id/mails', messages.observeMail, wants.NewMail),

  addAsset: control('/accounts/:id/assets', manuals.addAsset),
  setWorkspaceRole: control('/workspaces/:id/role', manuals.setWorkspaceRole, wants.RoleOfCaller),

  advance: control('/advance', advance, wants.Advance),
  idle: control('/idle', idle),
};

/** Gets the id in its path, if there is one, and the body. */
type Act<Wanted> =
  | ((marketplace: Marketplace, id: string, wanted: Wanted) => object)
  | ((marketplace: Marketplace, wanted: Wanted) => object);

function control<Wanted, Does extends Act<Wanted>>(path: string, act: Does, schema?: ControlSchema<Wanted>) {
  return { path, act, schema: (schema ?? wants.Nothing) as ControlSchema<unknown> };
}

/** In process only, or with another path. */
const others = { setFaults, snapshot: takeSnapshot, listDeliveries: takeDeliverySnapshots };

type Acts = { [Name in keyof typeof controls]: (typeof controls)[Name]['act'] } & typeof others;

/** Without the marketplace argument. A control that waits returns nothing in process. */
type Method<Does> = Does extends (marketplace: Marketplace, ...wanted: infer Wanted) => infer Done
  ? (...wanted: Wanted) => Done extends Promise<unknown> ? Promise<void> : Done
  : never;

export type Control = { [Name in keyof Acts]: Method<Acts[Name]> };

type Run = (marketplace: Marketplace, ...given: unknown[]) => object;

export function createControl(marketplace: Marketplace): Control {
  const acts = [...Object.entries(controls).map(([name, { act }]) => [name, act]), ...Object.entries(others)];
  const methods = acts.map(([name, act]) => [name, (...given: unknown[]) => (act as Run)(marketplace, ...given)]);
  return Object.fromEntries(methods) as Control;
}

/** Replaces the faults of one install, one employer's account, or all. Without `wanted`, ends them. */
function setFaults({ state, dice }: Marketplace, installId?: string, wanted: WantedFaults = {}) {
  const { faults = {} } = parseControl(SetFaults, { faults: wanted });
  if (installId !== undefined && !state.accounts.has(installId)) findIn(state.installs, 'install', installId);
  requireOperations(faults);
  dice.setFaults(installId, faults);
  return { installId: installId ?? null, faults };
}

/** A fault of an unknown operation would never happen, without an explanation. */
function requireOperations(faults: Faults): void {
  const routes = [...platformRoutes, ...employerRoutes, ...authRoutes];
  const withCaller = routes.filter(({ operation }) => operation.credential !== 'none');
  const known: string[] = [...new Set(withCaller.map(({ operation }) => nameOf(operation.address)))];
  for (const [kind, fault] of Object.entries<Fault | undefined>(faults)) {
    const unknown = fault?.operations?.find((operation) => !known.includes(nameOf(operation)));
    if (unknown === undefined) continue;
    const problem = `no operation "${unknown}"; there are ${known.join(', ')}`;
    throw new AppError('invalid', `faults.${kind}.operations: ${problem}`);
  }
}

/** The controls over HTTP. They need no token, so only programs on this machine may use them. */
export function createControlRouter(marketplace: Marketplace): Router {
  const router = express.Router();
  router.use(refuseRemote, express.json({ type: () => true }));
  for (const { path, act, schema } of Object.values(controls)) {
    router.post(path, async ({ params, body }, response) => {
      const wanted = parseControl(schema, body ?? {});
      response.json(await (act as Run)(marketplace, ...Object.values(params), wanted));
    });
  }
  router.post('/faults', ({ body }, response) => {
    const { installId, faults } = parseControl(SetFaults, body ?? {});
    response.json(setFaults(marketplace, installId, faults));
  });
  router.get('/state', (_request, response) => {
    response.json(takeSnapshot(marketplace));
  });
  router.get('/deliveries', (_request, response) => {
    response.json({ deliveries: takeDeliverySnapshots(marketplace) });
  });
  router.use(() => {
    const paths = Object.values(controls).map(({ path }) => path.slice(1));
    throw new AppError('not_found', `The sandbox has no such control; there are ${paths.join(', ')}`);
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
