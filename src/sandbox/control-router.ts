import express, { type Request, type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import type { Control } from './control.ts';
import {
  Advance,
  Consent,
  End,
  Funding,
  Hire,
  NewInstall,
  NewJob,
  Nothing,
  Relink,
  Replacement,
} from './control-request-schema.ts';
import type { Dispatcher } from './deliver.ts';
import { SetFaults } from './faults/faults-schema.ts';
import { parseRequest } from './platform-request-schema.ts';

interface ControlRoute {
  method: 'get' | 'post';
  path: string;
  answer: (id: string, body: unknown) => object | Promise<object>;
}

/** The controls by HTTP, for other processes on this machine: no token, so nobody else. */
export function createControlRouter(control: Control, dispatcher: Dispatcher): Router {
  const router = express.Router();
  router.use(refuseStrangers, express.json({ type: () => true }));
  const routes = [
    ...customerRoutes(control),
    ...linkRoutes(control),
    ...employerRoutes(control),
    ...readRoutes(control),
    post('/faults', (_, body) => {
      const { installId, faults } = parseRequest(SetFaults, body);
      return control.setFaults(installId, faults);
    }),
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
    post('/installs', (_, body) => control.createInstall(parseRequest(NewInstall, body))),
    post('/installs/:id/consent', (id, body) => {
      const { piiConsent } = parseRequest(Consent, body);
      control.setPiiConsent(id, piiConsent);
      return { installId: id, piiConsent };
    }),
    post('/installs/:id/revoke', (id, body) => {
      parseRequest(Nothing, body);
      control.revokeInstall(id);
      return { installId: id, status: 'REVOKED' };
    }),
    post('/installs/:id/revoke-token', (id, body) => {
      parseRequest(Nothing, body);
      control.revokeToken(id);
      return { installId: id, token: 'revoked' };
    }),
    post('/installs/:id/reconnect', (id, body) => {
      parseRequest(Nothing, body);
      return control.reconnect(id);
    }),
  ];
}

function linkRoutes(control: Control): ControlRoute[] {
  return [
    post('/links/:id/remove', (id, body) => {
      parseRequest(Nothing, body);
      return { projectLink: control.removeLink(id), deleted: true };
    }),
    post('/links/:id/relink', (id, body) => ({
      projectLink: control.relink(id, parseRequest(Relink, body)),
    })),
  ];
}

function employerRoutes(control: Control): ControlRoute[] {
  return [
    post('/jobs', (_, body) => control.createJob(parseRequest(NewJob, body))),
    post('/contracts', (_, body) => control.hire(parseRequest(Hire, body))),
    post('/contracts/:id/end', (id, body) => {
      control.endContract(id, parseRequest(End, body));
      return { contractId: id, status: 'ended' };
    }),
    post('/contracts/:id/mistaken-end', (id, body) => {
      parseRequest(Nothing, body);
      control.raiseMistakenEnd(id);
      return { contractId: id, status: 'active' };
    }),
    post('/contracts/:id/fund', (id, body) => ({
      contractId: id,
      milestone: control.fundMilestone(id, parseRequest(Funding, body)),
    })),
    post('/contracts/:id/replace-participant', (id, body) => ({
      contractId: id,
      participants: control.replaceParticipant(id, parseRequest(Replacement, body)),
    })),
  ];
}

function readRoutes(control: Control): ControlRoute[] {
  return [
    { method: 'get', path: '/state', answer: () => control.snapshot() },
    {
      method: 'get',
      path: '/deliveries',
      answer: () => ({ deliveries: control.listDeliveries() }),
    },
  ];
}

function timeRoutes(dispatcher: Dispatcher): ControlRoute[] {
  return [
    post('/advance', async (_, body) => {
      const { ms } = parseRequest(Advance, body);
      await dispatcher.advance(ms);
      return { advancedMs: ms };
    }),
    post('/idle', async (_, body) => {
      parseRequest(Nothing, body);
      await dispatcher.idle();
      return { isIdle: true };
    }),
  ];
}

function post(path: string, answer: ControlRoute['answer']): ControlRoute {
  return { method: 'post', path, answer };
}

function answer(route: ControlRoute): RequestHandler {
  return async (request, response) => {
    const { id = '' } = request.params;
    response.json(await route.answer(String(id), request.body ?? {}));
  };
}

/** Even where the sandbox listens to the network; and no page in a browser may steer it either. */
const refuseStrangers: RequestHandler = (request, _response, next) => {
  if (!isLoopback(request) || request.headers.origin !== undefined) {
    throw new AppError('forbidden', 'The controls answer only programs on this machine');
  }
  next();
};

function isLoopback({ socket: { remoteAddress = '' } }: Request): boolean {
  return remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress);
}
