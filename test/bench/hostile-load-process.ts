import { setTimeout as wait } from 'node:timers/promises';
import { sign } from '../support/sign.ts';
import { type Forged, toForgedBody } from './forged-event.ts';

/** The hostile customer in a process of its own; it forges until it is told to stop. */
export interface FloodOrder {
  url: string;
  secret: string;
  /** Events that say as little as they may, at once. */
  burst: number;
  /** Events a second from then on. */
  rate: number;
}

/** How many were answered, by status. */
export type FloodResult = Record<string, number>;

const connections = 16;
let isOver = false;

process.on('message', (order: FloodOrder | 'stop') => {
  if (order === 'stop') isOver = true;
  else void flood(order).then((result) => process.send?.(result));
});

async function flood(order: FloodOrder): Promise<FloodResult> {
  const statuses: FloodResult = {};
  const beganAt = performance.now();
  let sent = 0;

  async function sendOne(): Promise<void> {
    const number = sent++;
    const dueMs = (Math.max(0, number - order.burst) / order.rate) * 1000;
    const body = toForgedBody(forge(number, order.burst), number, new Date().toISOString());
    await wait(Math.max(0, dueMs - (performance.now() - beganAt)));
    const status = isOver ? 'unsent' : await post(order, body);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }

  async function sendUntilOver(): Promise<void> {
    while (!isOver) await sendOne();
  }
  await Promise.all(Array.from({ length: connections }, sendUntilOver));
  return statuses;
}

/** New people each on a contract of theirs, all on one contract, and one on all contracts. */
function forge(number: number, burst: number): Forged {
  const contract = `ctr-x${number}`;
  if (number < burst) return { type: 'contract.started', contract };
  const trainer = `usr-x${number}`;
  const hired = { type: 'contract.started', contract, trainer, project: `a-${number % 5}` };
  const forms: Forged[] = [hired, { ...hired, contract: 'ctr-crowd' }, { ...hired, trainer: 'usr-x' }];
  const forged = forms[number % forms.length] ?? hired;
  return { ...forged, email: `${forged.trainer}@opentrain.work` };
}

async function post({ url, secret }: FloodOrder, body: string): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
  };
  const response = await fetch(url, { method: 'POST', body, headers }).catch(() => null);
  await response?.arrayBuffer();
  return String(response?.status ?? 'no answer');
}
