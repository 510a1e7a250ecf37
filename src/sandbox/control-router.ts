import express, { type Request, type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import { answerControl, controls } from './controls.ts';
import { setFaults } from './fault-control.ts';
import { SetFaults } from './faults/faults-schema.ts';
import type { Marketplace } from './marketplace.ts';
import { parseRequest } from './platform-request-schema.ts';
import { takeDeliverySnapshots, takeSnapshot } from './snapshot.ts';

/** The controls by HTTP. They need no token, so they answer only programs on this machine. */
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
