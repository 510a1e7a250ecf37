import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';

/** The sandbox in a process of its own, with a customer who has hired many people. */

export interface MarketplaceOrder {
  contracts: number;
  perLink: number;
  cursors: boolean;
  /** How long every answer takes. */
  answerMs: number;
}

export interface Opened {
  baseUrl: string;
  token: string;
}

process.once('message', (order: MarketplaceOrder) => void open(order));

async function open(order: MarketplaceOrder): Promise<void> {
  const { contracts, perLink, cursors, answerMs } = order;
  const linksPerInstall = Math.ceil(contracts / perLink);
  const sandbox = createSandbox({ seed: 'bench', cursors, linksPerInstall });
  const { baseUrl } = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  for (let begin = 0; begin < contracts; begin += perLink) {
    const { id: jobId } = sandbox.createJob({ installId });
    await link(baseUrl, token, { jobId, externalProjectId: `project-${begin / perLink}` });
    const people = Math.min(perLink, contracts - begin);
    for (let index = 0; index < people; index += 1) hire(sandbox, jobId, begin + index);
    // More than fit into a page: what has ended is not to be read again and again.
    const ended = sandbox.hire({ jobId });
    sandbox.endContract(ended.contractId);
  }
  sandbox.setFaults(undefined, { slow: { probability: 1, ms: answerMs } });
  let requests = 0;
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage };
    if (request.method === 'GET') requests += 1;
  });
  process.send?.({ baseUrl, token } satisfies Opened);
  for (;;) {
    await once(process, 'message');
    process.send?.(requests);
    requests = 0;
  }
}

function hire(sandbox: Sandbox, jobId: string, number: number): void {
  sandbox.hire({ jobId, trainers: [{ opentrainUserId: `usr_${number}` }] });
}

async function link(baseUrl: string, token: string, wanted: object): Promise<void> {
  const answer = await fetch(`${baseUrl}/project-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
  });
  if (!answer.ok) throw new Error(`the marketplace answered ${answer.status}`);
}
