import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApiDocument, loadSdk, toTools } from '../../src/cli/mcp-command.ts';
import { createDocument, operations } from '../../src/http/api/openapi-document.ts';
import { programFile } from '../support/built-program.ts';
import { sqlite } from '../support/databases.ts';
import { openJourney } from '../support/journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';

/** The program as a process of its own, as an application would start it for its model. */
async function openClient(consoleUrl: string, token: string): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [programFile, 'mcp', '--remote', consoleUrl],
    env: { GANGWAY_API_TOKEN: token },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

describe('gangway mcp', { timeout: 60_000 }, () => {
  it('lets a model read, and says in each tool that it only reads', async () => {
    const { consoleUrl, customer, sandbox, quiet } = await openJourney(sqlite);
    await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    const trainer = trainers[0]?.opentrainUserId ?? '';
    await quiet();
    const client = await openClient(consoleUrl, consoleTokens.vera.token);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('explainShow');
    for (const { annotations } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    }

    const found = await client.callTool({ name: 'accessSearch', arguments: { trainer, limit: 5 } });
    expect(found.structuredContent).toMatchObject({ items: [{ trainerId: trainer, state: 'active' }] });
    const one = await client.callTool({ name: 'membersShow', arguments: { membership: 1 } });
    expect(one.structuredContent).toMatchObject({ id: 1, explanations: [{ trainerId: trainer }] });
    const missing = await client.callTool({ name: 'membersShow', arguments: { membership: '1/../2' } });
    expect(missing).toMatchObject({ isError: true });
    for (const name of ['plansApprove', 'forgetNow', 'retireNow', 'membersInvitation', 'deliveriesBody']) {
      expect(await client.callTool({ name, arguments: {} })).toMatchObject({ isError: true });
    }
  });

  it('has tools only for what viewers may read', () => {
    const tools = toTools(JSON.parse(JSON.stringify(createDocument())) as ApiDocument);
    const readable = operations.filter(({ method, role }) => method === 'get' && role === 'viewer');
    expect([...tools.keys()].sort()).toEqual(readable.map(({ id }) => id).sort());
    for (const { toRequest } of tools.values()) {
      expect(toRequest({ membership: 1, no: 'such' }).operation).toMatch(/^GET \//);
    }
    expect(tools.get('plansShow')?.toRequest({ plan: 3, limit: 1, cursor: null })).toEqual({
      operation: 'GET /plans/{plan}',
      given: { params: { plan: '3' }, query: {} },
    });
  });

  it('says what it needs if the instance or the package is missing', async () => {
    const ended = await runCommand('mcp');
    expect(ended).toMatchObject({ status: 64, stderr: expect.stringContaining('--remote') });
    const missing = loadSdk(async () => {
      throw new Error('Cannot find package');
    });
    await expect(missing).rejects.toMatchObject({
      message: expect.stringContaining('npm install @modelcontextprotocol'),
    });
  });
});
