import { createServer } from 'node:http';
import express, { type Request, type RequestHandler, type Response } from 'express';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { createFaults, headersOfRefusal, listenOnLoopback } from './http-fake.ts';

/** A proxy before a SCIM server on loopback, which records requests, and misbehaves if a test says so. */
export interface ScimTool {
  /** The root of its SCIM. */
  url: string;
  token: string;
  /** `method path?query` of every request, decoded. */
  requests: { line: string; headers: Request['headers']; body: unknown }[];
  faults: ToolFaults;
  users(): ScimUser[];
  /** The ids in a group, as often as they are in it. */
  members(group: string): string[];
  /** Makes an account, and puts it into a group, as another hand would. Gives its id. */
  seed(user: { userName: string; [attribute: string]: unknown }, group?: string): string;
  /** Gives the id of an account to another user. */
  giveOut(id: string, userName: string): void;
}

export interface ScimUser {
  id: string;
  userName: string;
  active?: unknown;
  [attribute: string]: unknown;
}

/** How many members the group of a request has now. */
export type CountMembers = (groupId: string) => number;

export async function openScimFront(server: RequestHandler, countMembers: CountMembers, token = 'scim-token/1+2==') {
  const requests: ScimTool['requests'] = [];
  const { of: faultOf, faults: simple } = createFaults([token]);
  let isHiding = false;

  const app = express();
  app.use(express.json({ type: ['application/scim+json', 'application/json'] }));
  app.use((request, response, next) => {
    requests.push({
      line: `${request.method} ${decodeURIComponent(request.originalUrl.replace('/scim/v2', ''))}`,
      headers: request.headers,
      body: request.body as unknown,
    });
    const fault = faultOf(kindOf(request, countMembers));
    if (isHiding && request.method === 'GET' && request.path.includes('/Groups')) hideMembers(response);
    if (!misbehave(fault, token, request, response)) next();
  });
  app.use('/scim/v2', server);
  const listener = createServer(app);
  const address = await listenOnLoopback(listener);
  const faults: ToolFaults = {
    ...simple,
    end: () => {
      simple.end();
      isHiding = false;
    },
    hideMembers: () => {
      isHiding = true;
    },
  };
  return { url: `${address}/scim/v2`, token, requests, faults };
}

function hideMembers(response: Response): void {
  const send = response.send.bind(response);
  response.send = (body: unknown) => {
    const shown = (typeof body === 'string' ? JSON.parse(body) : body) as { Resources?: object[] };
    const { Resources: all } = shown;
    const empty = { ...shown, ...(all === undefined ? { members: [] } : { Resources: all.map(withoutMembers) }) };
    return send(JSON.stringify(empty));
  };
}

function withoutMembers(group: object): object {
  return { ...group, members: [] };
}

/** @returns whether that was all that happens */
function misbehave(fault: ToolFault | undefined, token: string, request: Request, response: Response): boolean {
  switch (fault?.does) {
    case undefined:
      return false;
    case 'stalls':
      return true;
    case 'swallows':
      response.status(request.method === 'POST' ? 201 : 200);
      response.json({ ...(request.body as object), id: 'made-up' });
      return true;
    case 'answers':
      refuse(fault, response, toQuoted(token, request));
      return true;
    case 'goes_silent':
      // An account alone is no membership yet.
      if (request.path.endsWith('/Users')) return false;
      silence(response);
      return false;
  }
}

/** An answer says nothing of what it did, but says what it refused. */
function silence(response: Response): void {
  const end = response.end.bind(response) as (...all: unknown[]) => Response;
  response.end = ((...all: unknown[]) => (response.statusCode < 400 ? response : end(...all))) as Response['end'];
}

/** All that it should not quote: its credential, and what it was sent. */
function toQuoted(token: string, { originalUrl, body }: Request): string {
  const sent = `${originalUrl} ${JSON.stringify(body)}`;
  return `${token} ${encodeURIComponent(token)} Authorization: Bearer ${token} ${sent}`;
}

function refuse(fault: ToolFault & { does: 'answers' }, response: Response, detail: string): void {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  response.status(fault.status).set(headersOfRefusal(fault, '/scim/v2/Users'));
  response.json({ schemas, status: String(fault.status), detail });
}

interface Sent {
  Operations?: { op: string; value?: unknown }[];
  active?: unknown;
  members?: unknown[];
}

/** Whether a request gives or takes access, in any of its forms. */
function kindOf(request: Request, countMembers: CountMembers): RequestKind {
  const { method, path, query } = request;
  const isCheck = path.endsWith('/ServiceProviderConfig') || query['count'] === '1';
  if (method === 'GET') return isCheck ? 'check' : 'read';
  if (method === 'POST') return 'add';
  const { Operations: [operation] = [], active, members } = request.body as Sent;
  if (operation !== undefined) return /^remove$/i.test(operation.op) ? 'remove' : kindOfValue(operation.value);
  if (members === undefined) return kindOfValue(active);
  const id = decodeURIComponent(path.split('/').at(-1) ?? '');
  return members.length < countMembers(id) ? 'remove' : 'add';
}

function kindOfValue(value: unknown): RequestKind {
  return /false/i.test(JSON.stringify(value)) ? 'remove' : 'add';
}
