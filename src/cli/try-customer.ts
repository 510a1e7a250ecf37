import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { platformEventTypes } from '../domain/event.ts';
import { requestJson } from '../lib/http-client.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

interface Customer {
  token: string;
  secret: string;
  jobId: string;
}

export const demoProject = 'street-signs';

/** A customer who has connected the bridge: a job linked to a project, and a webhook endpoint. */
export async function prepareCustomer(sandbox: Sandbox, baseUrl: string, receiverPort: number): Promise<Customer> {
  const { installId, token } = sandbox.createInstall();
  const job = sandbox.createJob({ installId, title: 'Street sign annotation' });
  const post = async (path: string, body: object) => {
    const answer = await requestJson({
      method: 'POST',
      url: `${baseUrl}${path}`,
      headers: { authorization: `Bearer ${token}` },
      body,
      purpose: 'prepare the sandbox',
      timeoutMs: 5000,
      maxBytes: 65_536,
    });
    return answer.body;
  };
  const url = `http://127.0.0.1:${receiverPort}/webhooks/demo`;
  const endpoint = await post('/webhook-endpoints', { url, eventTypes: platformEventTypes });
  await post('/project-links', {
    externalProjectId: demoProject,
    externalProjectName: 'Street signs',
    externalProjectUrl: 'https://tool.example.com/projects/street-signs',
    jobId: job.id,
  });
  return { token, secret: (endpoint as { secret: string }).secret, jobId: job.id };
}

/** The endpoint's address must be known before anything listens there. */
export async function takeFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
