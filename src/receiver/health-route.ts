import type { RequestHandler } from 'express';
import type { Clock } from '../lib/clock.ts';

/** Anybody may ask and asking costs a write, so an answer is good for a moment. */
const goodForMs = 1000;

/** `/readyz`: whether a delivery could be stored now, and nothing more. */
export function createReadyRoute(checkStorage: () => Promise<void>, clock: Clock): RequestHandler {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checked: Promise<void> = Promise.resolve();
  return async (_request, response) => {
    const now = clock.now().getTime();
    if (now - checkedAt >= goodForMs) {
      checkedAt = now;
      checked = checkStorage();
    }
    await checked;
    response.json({ status: 'ok' });
  };
}
