import type { RequestHandler } from 'express';
import type { Readiness } from '../lib/readiness.ts';

/** `/readyz`: whether a delivery could be stored now, and nothing more. */
export function createReadyRoute(readiness: Readiness): RequestHandler {
  return async (_request, response) => {
    const status = await readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
  };
}
