import express, { type Request, type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import type { Control } from './control.ts';
import {
  Advance,
  Bill,
  Consent,
  End,
  FeedNews,
  Funding,
  Hire,
  NewAccount,
  NewInstall,
  NewJob,
  Nothing,
  Relink,
  Replacement,
  Resolve,
  Settle,
  WorkEmail,
} from './control-request-schema.ts';
import type { Dispatcher } from './dispatcher.ts';
import { NewBindings, NewManual, NewPublication, PageEdit } from './employer/manual-control-schema.ts';
import { SetFaults } from './faults/faults-schema.ts';
import { parseRequest, type RequestSchema } from './platform-request-schema.ts';

interface ControlRoute {
  method: 'get' | 'post';
  path: string;
  answer: (id: string, body: unknown) => object | Promise<object>;
}

/** The controls by HTTP. They need no token, so they answer only programs on this machine. */
export function createControlRouter(control: Control, dispatcher: Dispatcher): Router {
  const router = express.Router();
  router.use(refuseRemote, express.json({ type: () => true }));
  const routes = [
    ...customerRoutes(control),
    ...linkRoutes(control),
    ...employerRoutes(control),
    ...accountRoutes(control),
    ...manualRoutes(control),
    post('/faults', SetFaults, (_, { installId, faults }) => control.setFaults(installId, faults)),
    get('/state', () => control.snapshot()),
    get('/deliveries', () => ({ deliveries: control.listDeliveries() })),
    ...timeRoutes(dispatcher),
  ];
  for (const route of routes) router[route.method](route.path, answer(route));
  router.use(() => {
    throw new AppError('not_found', 'The sandbox has no such control');
  });
  return router;
}

function customerRoutes(control: Control): ControlRoute[] {
  return [
    post('/installs', NewInstall, (_, wanted) => control.createInstall(wanted)),
    post('/installs/:id/consent', Consent, (installId, { piiConsent }) => {
      control.setPiiConsent(installId, piiConsent);
      return { installId, piiConsent };
    }),
    post('/installs/:id/revoke', Nothing, (installId) => {
      control.revokeInstall(installId);
      return { installId, status: 'REVOKED' };
    }),
    post('/installs/:id/revoke-token', Nothing, (installId) => {
      control.revokeToken(installId);
      return { installId, token: 'revoked' };
    }),
    post('/installs/:id/reconnect', Nothing, (installId) => control.reconnect(installId)),
  ];
}

function linkRoutes(control: Control): ControlRoute[] {
  return [
    post('/links/:id/remove', Nothing, (id) => ({ projectLink: control.removeLink(id), deleted: true })),
    post('/links/:id/relink', Relink, (id, changes) => ({ projectLink: control.relink(id, changes) })),
  ];
}

function employerRoutes(control: Control): ControlRoute[] {
  return [
    post('/jobs', NewJob, (_, wanted) => control.createJob(wanted)),
    post('/contracts', Hire, (_, wanted) => control.hire(wanted)),
    post('/contracts/:id/end', End, (contractId, wanted) => {
      control.endContract(contractId, wanted);
      return { contractId, status: 'ended' };
    }),
    post('/contracts/:id/mistaken-end', Nothing, (contractId) => {
      control.raiseMistakenEnd(contractId);
      return { contractId, status: 'active' };
    }),
    post('/contracts/:id/fund', Funding, (contractId, wanted) => ({
      contractId,
      milestone: control.fundMilestone(contractId, wanted),
    })),
    post('/contracts/:id/replace-participant', Replacement, (contractId, wanted) => ({
      contractId,
      participants: control.replaceParticipant(contractId, wanted),
    })),
  ];
}

function accountRoutes(control: Control): ControlRoute[] {
  return [
    post('/accounts', NewAccount, (_, wanted) => control.createAccount(wanted)),
    post('/accounts/:id/revoke-tokens', Nothing, (accountId) => {
      control.revokeAccountTokens(accountId);
      return { accountId, tokens: 'revoked' };
    }),
    post('/accounts/:id/news', FeedNews, (accountId, news) => {
      control.raiseNews(accountId, news);
      return { accountId, type: news.type };
    }),
    post('/trainers/:id/work-email', WorkEmail, (trainerId, wanted) => {
      control.setWorkEmail(trainerId, wanted);
      return { trainerId };
    }),
    post('/contracts/:id/bill', Bill, (contractId, wanted) => control.billContract(contractId, wanted)),
    post('/payments/:id/settle', Settle, (paymentId, { outcome = 'paid' }) => {
      control.settlePayment(paymentId, { outcome });
      return { paymentId, outcome };
    }),
    post('/approvals/:id/resolve', Resolve, (approvalId, { status }) => {
      control.resolveApproval(approvalId, status);
      return { approvalId, status };
    }),
  ];
}

function manualRoutes(control: Control): ControlRoute[] {
  return [
    post('/accounts/:id/manuals', NewManual, (accountId, wanted) => control.createManual(accountId, wanted)),
    post('/pages/:id/edit', PageEdit, (pageId, changes) => control.editPage(pageId, changes)),
    post('/manuals/:id/publish', NewPublication, (manualId, wanted) => control.publishManual(manualId, wanted)),
    post('/manuals/:id/bind', NewBindings, (manualId, wanted) => control.bindManual(manualId, wanted)),
    post('/manuals/:id/archive', Nothing, (manualId) => control.archiveManual(manualId)),
  ];
}

function timeRoutes(dispatcher: Dispatcher): ControlRoute[] {
  return [
    post('/advance', Advance, async (_, { ms }) => {
      await dispatcher.advance(ms);
      return { advancedMs: ms };
    }),
    post('/idle', Nothing, async () => {
      await dispatcher.idle();
      return { isIdle: true };
    }),
  ];
}

function get(path: string, answer: ControlRoute['answer']): ControlRoute {
  return { method: 'get', path, answer };
}

function post<T>(
  path: string,
  schema: RequestSchema<T>,
  answer: (id: string, wanted: T) => object | Promise<object>,
): ControlRoute {
  return { method: 'post', path, answer: (id, body) => answer(id, parseRequest(schema, body)) };
}

function answer(route: ControlRoute): RequestHandler {
  return async (request, response) => {
    const { id = '' } = request.params;
    response.json(await route.answer(String(id), request.body ?? {}));
  };
}

/** The sandbox may listen to the network. A page in a browser is refused too: it may be from anywhere. */
const refuseRemote: RequestHandler = (request, _response, next) => {
  if (!isLoopback(request) || request.headers.origin !== undefined) {
    throw new AppError('forbidden', 'The controls answer only programs on this machine');
  }
  next();
};

function isLoopback({ socket: { remoteAddress = '' } }: Request): boolean {
  return remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress);
}
