import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type ApiDocument, toTools } from '../../src/cli/mcp-command.ts';
import { createDocument } from '../../src/http/api/openapi-document.ts';
import { operations } from '../../src/operations/all.ts';
import { fieldsOf } from '../../src/operations/input.ts';
import { nouns } from '../../src/operations/nouns.ts';
import { fieldsOfPath, type Operation } from '../../src/operations/operation.ts';
import { createApiClient } from '../support/api-client.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';
import { type FilledSite, openFilledSite } from './filled-site.ts';

/** Each operation is said once, so each is asked at each of its doors. */

const work = '0123456789ab';
const day = `gw-${'0'.repeat(32)}`;

type Input = Record<string, string | number | boolean>;

/** What has to be given, and finds something in the filled database. A name in angles is one of `known`. */
const inputs: Record<string, Input> = {
  plansShow: { plan: 1 },
  installsShow: { install: 'acme' },
  membersShow: { membership: 1 },
  explainShow: { subject: '<contract>', timeline: true },
  deliveriesShow: { delivery: 1 },
  deliveriesBody: { delivery: 1 },
  auditShow: { act: 1 },
  budgetsShow: { contract: '<contract>' },
  usageShow: { contract: '<contract>' },
  usageAssign: { work },
  usageDiscard: { work },
  usageTakeBack: { work },
  usageSend: { day },
  usageDismiss: { day },
  hireDraft: { text: import.meta.filename },
  teamInvite: { email: 'ada@example.com' },
  budgetsTopUp: { amount: 20 },
};

/** They find something only in the tests of guidelines, and of hires and manuals by an account of one's own. */
const elsewhere: ReadonlySet<string> = new Set([
  ...['guidelinesShow', 'hireJob', 'hireProposals', 'hireProposal', 'milestonesList', 'teamList'],
  ...['manualsLog', 'manualsPermissions', 'reviewList'],
]);

const reads = operations.filter(({ method, id }) => method === 'get' && !elsewhere.has(id));
const acts = operations.filter(({ method }) => method === 'post');
const withCommand = operations.filter(({ hasCommand }) => hasCommand);

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

function inputOf(id: string, { known }: Pick<FilledSite, 'known'>): Input {
  return Object.fromEntries(
    Object.entries(inputs[id] ?? {}).map(([name, value]) => [name, known[String(value)] ?? value]),
  );
}

function lineOf({ noun, verb, args }: Operation, input: Input): string[] {
  const isAlone = withCommand.filter((one) => one.noun === noun).length === 1;
  const given = Object.entries(input).filter(([name]) => !args.includes(name));
  const options = given.flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`,
    ...(value === true ? [] : [String(value)]),
  ]);
  const values = args.flatMap((name) => (input[name] === undefined ? [] : [String(input[name])]));
  return [noun, ...(isAlone ? [] : [verb]), ...values, ...options];
}

function requestOf({ path }: Operation, input: Input) {
  const names = fieldsOfPath(path);
  const fields = Object.entries(input);
  return {
    params: textsOf(fields.filter(([name]) => names.includes(name))),
    query: textsOf(fields.filter(([name]) => !names.includes(name))),
  };
}

function textsOf(fields: [string, unknown][]): Record<string, string> {
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
}

describe('the table of operations', () => {
  it('is what the command line loads, noun by noun', async () => {
    for (const [noun, { load }] of Object.entries(nouns)) {
      expect(new Set((await load()).operations.map((one) => one.noun))).toEqual(new Set([noun]));
    }
  });

  it('has one address, one command and one id for each', () => {
    const addresses = operations.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(addresses).size).toBe(operations.length);
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  it('describes each field that an operator can give', () => {
    const silent = operations.flatMap(({ id, in: schema }) =>
      [...fieldsOf(schema)].filter(([, { description }]) => description === '').map(([name]) => `${id} ${name}`),
    );
    expect(silent).toEqual([]);
  });
});

/** Where a command runs its operation: here, and at a running instance. */
const doors = ({ configFile, consoleUrl }: FilledSite) => [
  ['--config', configFile],
  ['--remote', consoleUrl],
];

// Opening a site takes longer than asking all operations, and no read changes it.
describe('a read', () => {
  it('gives the same answer by API, command, --remote and MCP', async () => {
    const site = await openFilledSite();
    const client = createApiClient(site.consoleUrl);
    const tools = toTools(JSON.parse(JSON.stringify(createDocument())) as ApiDocument);
    for (const operation of reads) {
      const { id, hasCommand } = operation;
      const input = inputOf(id, site);
      const api = await client.ask(id, requestOf(operation, input));
      for (const where of hasCommand ? doors(site) : []) {
        const { status, stdout, stderr } = await runCommand(...lineOf(operation, input), '--json', ...where);
        expect([id, ...where, status, stderr]).toEqual([id, ...where, operation.status(api, input), '']);
        expect([id, ...where, JSON.parse(stdout)]).toEqual([id, ...where, api]);
      }
      expect([id, tools.has(id)]).toEqual([id, operation.role === 'viewer']);
      expect(tools.get(id)?.toRequest(input).operation ?? `GET ${operation.path}`).toBe(`GET ${operation.path}`);
    }
  });

  it('of a list is refused for an install or a tool that does not exist', async () => {
    const site = await openFilledSite();
    const client = createApiClient(site.consoleUrl);
    const asked: string[] = [];
    for (const { id, in: schema, show } of reads) {
      if (!('rowsOf' in show)) continue;
      for (const name of ['install', 'tool'].filter((field) => fieldsOf(schema).has(field))) {
        const { status, body } = await client.send(id, { query: { [name]: 'nobody' } });
        expect([id, status, body['code']]).toEqual([id, 404, 'not_found']);
        expect(body['detail']).toContain(`There is no ${name} "nobody"`);
        asked.push(id);
      }
    }
    expect(asked).toContain('runsList');
  });

  it('is shown the same with and without --remote', async () => {
    const site = await openFilledSite();
    for (const operation of reads.filter(({ hasCommand }) => hasCommand)) {
      const line = lineOf(operation, inputOf(operation.id, site));
      const [here, afar] = await Promise.all(doors(site).map((where) => runCommand(...line, ...where)));
      expect([line, afar]).toEqual([line, here]);
      expect([line, here?.stderr, here?.stdout]).toEqual([line, '', expect.stringMatching(/\S/)]);
    }
  });

  it('of a list can be printed as CSV', async () => {
    const site = await openFilledSite();
    for (const operation of reads) {
      if (!('columns' in operation.show)) continue;
      const line = [...lineOf(operation, inputOf(operation.id, site)), '--output', 'csv', '--config', site.configFile];
      const titles = operation.show.columns.map(([title]) => title);
      expect([line, (await runCommand(...line)).stdout.split('\r\n')[0]]).toEqual([line, titles.join(',')]);
    }
  });
});

it('refuses an invalid input by API, command and MCP', async () => {
  const site = await openFilledSite();
  const client = createApiClient(site.consoleUrl);
  const wrong = { 'no-such-field': 'x' };
  for (const operation of operations) {
    const { id, method, hasCommand } = operation;
    const { status, body } = await client.send(id, method === 'get' ? { query: wrong } : { body: wrong });
    expect([id, status, body['code']]).toEqual([id, 400, 'invalid']);
    for (const where of hasCommand ? doors(site) : []) {
      const refused = await runCommand(...lineOf(operation, inputOf(id, site)), '--no-such-field', 'x', ...where);
      expect([id, refused.status, refused.stdout]).toEqual([id, 64, '']);
      expect(refused.stderr).toContain("unknown option '--no-such-field'");
    }
  }
});

it('refuses a viewer each act, by the API and by a command', async () => {
  const { consoleUrl } = await openFilledSite();
  const client = createApiClient(consoleUrl, 'vera');
  vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.vera.token);
  for (const operation of acts) {
    const { id, hasCommand } = operation;
    const { status, body } = await client.send(id, { body: {} });
    expect([id, status, body['code']]).toEqual([id, 403, 'forbidden']);
    if (!hasCommand) continue;
    const line = lineOf(operation, { ...required(operation), ...inputs[id] });
    const refused = await runCommand(...line, '--remote', consoleUrl);
    const says = expect.stringContaining('only operators can do this');
    expect([id, refused.status, refused.stderr]).toEqual([id, 1, says]);
  }
});

/** Anything for each field that is required. */
function required({ in: schema }: Operation): Record<string, string | number> {
  const member = schema instanceof z.ZodUnion ? (schema.options[0] as z.ZodType) : schema;
  const fields = [...fieldsOf(member)].filter(([, { isRequired }]) => isRequired);
  return Object.fromEntries(
    fields.map(([name, { type, choices }]) => [name, choices?.[0] ?? (type === 'text' ? 'x' : 1)]),
  );
}
