import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { platformEventTypes as sandboxEventTypes } from '../../src/domain/event.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';

export const minuteMs = 60_000;

/** Usage may be reported for this day and for earlier days. */
export const today = '2026-03-15';
export const clock = { now: () => new Date(`${today}T12:00:00.000Z`) };

export interface Answer {
  status: number;
  // The assertions of each test say what it expects.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export interface Call {
  token?: string | undefined;
  body?: unknown;
  /** Sent as it is, instead of JSON. */
  rawBody?: string;
}

export interface World {
  sandbox: Sandbox;
  url: string;
  baseUrl: string;
  installId: string;
  organizationId: string;
  token: string;
  jobId: string;
  /** Calls the platform API with the token of the install, or with the given one. */
  api(method: string, path: string, call?: Call): Promise<Answer>;
  /** Links the job (or another one) and returns the link's id. */
  link(externalProjectId: string, jobId?: string | null): Promise<string>;
  subscribe(url: string, types?: readonly string[]): Promise<{ id: string; secret: string }>;
  /** Hires for the job, and waits until no attempt is due. @returns the ids of the contracts */
  hire(count?: number): Promise<string[]>;
}

/** A started sandbox with one install and one job. Its timeline moves only by `advance`. */
export async function openWorld(options: SandboxOptions = {}): Promise<World> {
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', ...options });
  const { url, baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { installId, organizationId, token } = sandbox.createInstall();
  const { id: jobId } = sandbox.createJob({ installId });
  const api: World['api'] = (method, path, call = {}) => request(method, `${baseUrl}${path}`, { token, ...call });
  return {
    sandbox,
    url,
    baseUrl,
    installId,
    organizationId,
    token,
    jobId,
    api,
    async link(externalProjectId, linkedJobId = jobId) {
      const body = { externalProjectId, jobId: linkedJobId };
      const { body: answer } = await api('POST', '/project-links', { body });
      return answer.projectLink.id;
    },
    async subscribe(endpointUrl, types = sandboxEventTypes) {
      const body = { url: endpointUrl, eventTypes: types };
      const { body: answer } = await api('POST', '/webhook-endpoints', { body });
      return { id: answer.webhookEndpoint.id, secret: answer.secret };
    },
    async hire(count = 1) {
      const ids = Array.from({ length: count }, () => sandbox.hire({ jobId }).contractId);
      await sandbox.idle();
      return ids;
    },
  };
}

export async function request(method: string, url: string, call: Call = {}): Promise<Answer> {
  const { token, body, rawBody = body === undefined ? undefined : JSON.stringify(body) } = call;
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(rawBody === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(rawBody === undefined ? {} : { body: rawBody }),
  });
  return { status: response.status, body: await response.json() };
}

export interface Received {
  headers: IncomingHttpHeaders;
  rawBody: string;
  /** Undefined if the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: as in Answer
  event: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Answers the next requests; with 200 at first. */
  respond: (response: ServerResponse, received: Received) => void;
}

/** A webhook receiver on loopback. It keeps the requests, and answers by `respond`. */
export async function openReceiver(): Promise<Receiver> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const rawBody = Buffer.concat(chunks).toString();
    const received = { headers: incoming.headers, rawBody, event: parseJson(rawBody) };
    receiver.received.push(received);
    receiver.respond(response, received);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    respond: answerWith(200),
  };
  return receiver;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function answerWith(status: number, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, headers).end('{}');
  };
}

/** The id of a delivery. */
export function idOf({ headers }: Received): string {
  return String(headers['x-opentrain-delivery']);
}

/** The default of what must be there. */
export function never(): never {
  throw new Error('there is none');
}
