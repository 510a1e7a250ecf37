import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

/** The sandbox in a process of its own, with a customer who has hired many people, one for each contract. */
export interface MarketplaceOrder {
  contracts: number;
  perLink: number;
  cursors?: boolean;
  /** How long every answer takes. */
  answerMs?: number;
}

export interface Opened {
  baseUrl: string;
  token: string;
  people: { contractId: string; trainerId: string }[];
}

const [order] = (await once(process, 'message')) as [MarketplaceOrder];
const { contracts, perLink, cursors = false, answerMs } = order;
const sandbox = createSandbox({ seed: 'bench', cursors, linksPerInstall: Math.ceil(contracts / perLink) });
const { baseUrl } = await sandbox.start();
const { installId, token } = sandbox.createInstall();
const people: Opened['people'] = [];
for (let project = 0; people.length < contracts; project += 1) {
  const { id: jobId } = sandbox.createJob({ installId });
  await link({ jobId, externalProjectId: `project-${project}` });
  const end = Math.min(people.length + perLink, contracts);
  while (people.length < end) {
    const trainerId = `usr_${people.length}`;
    const { contractId } = sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] });
    people.push({ contractId, trainerId });
  }
  // More than fit into a page: what has ended is not to be read again and again.
  const ended = sandbox.hire({ jobId });
  sandbox.endContract(ended.contractId);
}
if (answerMs !== undefined) sandbox.setFaults(undefined, { slow: { probability: 1, ms: answerMs } });
let requests = 0;
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  if (request.method === 'GET') requests += 1;
});
process.send?.({ baseUrl, token, people } satisfies Opened);
for (;;) {
  await once(process, 'message');
  process.send?.(requests);
  requests = 0;
}

async function link(wanted: object): Promise<void> {
  const answer = await fetch(`${baseUrl}/project-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
  });
  if (!answer.ok) throw new Error(`the marketplace answered ${answer.status}`);
}
