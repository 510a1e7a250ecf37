import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { BridgeSetup } from './bridge-process.ts';
import { httpToolBridgeFile } from './built-program.ts';
import { listenOnLoopback } from './http-fake.ts';

/** A tool that workers in other processes call, and that does what a test says when they do. */
export interface HttpTool {
  url: string;
  calls: ToolCall[];
  /** As `group/trainer`, sorted. */
  members(): string[];
  has(member: string): boolean;
  /** Sees every call before it has any effect; the call waits for it. */
  before: (call: ToolCall) => Promise<void> | void;
  /** Sees every call when it has had its effect; the answer waits for it. */
  after: (call: ToolCall) => Promise<void> | void;
}

export interface ToolCall {
  method: 'GET' | 'PUT' | 'DELETE';
  /** `group/trainer`. */
  member: string;
  /** The process that calls. */
  pid: number;
  at: string;
}

export async function openHttpTool(): Promise<HttpTool> {
  const present = new Set<string>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = toCall(request);
    tool.calls.push(call);
    await tool.before(call);
    const { method, member } = call;
    if (method === 'PUT') present.add(member);
    if (method === 'DELETE') present.delete(member);
    const isKnown = method !== 'GET' || member === '' || present.has(member);
    await tool.after(call);
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    const [, trainer] = member.split('/');
    response.end(JSON.stringify({ id: trainer, email: `${trainer}@opentrain.work` }));
  }

  const server = createServer((request, response) => void answer(request, response));
  const url = await listenOnLoopback(server);
  const tool: HttpTool = {
    url,
    calls: [],
    members: () => [...present].sort(),
    has: (member) => present.has(member),
    before: () => undefined,
    after: () => undefined,
  };
  return tool;
}

function toCall({ method, url = '', headers }: IncomingMessage): ToolCall {
  return {
    method: method as ToolCall['method'],
    member: url.slice(1),
    pid: Number(headers['x-worker']),
    at: new Date().toISOString(),
  };
}

/** A bridge whose tool `list` it is. */
export function withHttpTool(setup: BridgeSetup, { url }: HttpTool): BridgeSetup {
  return { ...setup, program: httpToolBridgeFile, args: ['--tool', url] };
}
