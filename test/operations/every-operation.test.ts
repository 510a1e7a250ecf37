import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createDocument } from '../../src/api/openapi-document.ts';
import { type ApiDocument, toTools } from '../../src/cli/mcp-tools.ts';
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
};

/** Something is published for a project only in the tests of guidelines. */
const elsewhere: ReadonlySet<string> = new Set(['guidelinesShow']);

const reads = operations.filter(({ method, id }) => method === 'get' && !elsewhere.has(id));
const acts = operations.filter(({ method }) => method === 'post');
const withCommand = operations.filter(({ hasCommand }) => hasCommand);
const named = (some: readonly Operation[]) => some.map((operation) => [operation.id, operation] as const);

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
  it('is what the command line loads by noun', async () => {
    const loaded = await Promise.all(Object.values(nouns).map(({ load }) => load()));
    expect(
      loaded
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(
      operations
        .filter(({ noun }) => noun in nouns)
        .map(({ id }) => id)
        .sort(),
    );
    expect(withCommand.filter(({ noun }) => !(noun in nouns))).toEqual([]);
    for (const [noun, { load }] of Object.entries(nouns)) {
      expect(new Set((await load()).map((one) => one.noun))).toEqual(new Set([noun]));
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

describe('a read', () => {
  it.each(named(reads))('%s gives one answer by the API, a command, --remote and MCP', async (id, operation) => {
    const site = await openFilledSite();
    const { consoleUrl, configFile } = site;
    const input = inputOf(id, site);
    const api = await createApiClient(consoleUrl).ask(id, requestOf(operation, input));
    const line = lineOf(operation, input);
    for (const where of operation.hasCommand
      ? [
          ['--config', configFile],
          ['--remote', consoleUrl],
        ]
      : []) {
      const { status, stdout, stderr } = await runCommand(...line, '--json', ...where);
      expect([status, stderr]).toEqual([operation.status(api, input), '']);
      expect(JSON.parse(stdout)).toEqual(api);
    }
    const tool = toTools(JSON.parse(JSON.stringify(createDocument())) as ApiDocument).get(id);
    expect(tool === undefined).toBe(operation.role === 'operator');
    expect(tool?.toRequest(input).operation ?? `GET ${operation.path}`).toBe(`GET ${operation.path}`);
  });

  it.each(named(reads.filter(({ hasCommand }) => hasCommand)))(
    '%s is shown the same here and from afar',
    async (id, operation) => {
      const site = await openFilledSite();
      const { consoleUrl, configFile } = site;
      const line = lineOf(operation, inputOf(id, site));
      const here = await runCommand(...line, '--config', configFile);
      expect(await runCommand(...line, '--remote', consoleUrl)).toEqual(here);
      expect([here.stderr, here.stdout.trim()]).toEqual(['', expect.stringMatching(/./)]);
    },
  );

  it.each(named(reads.filter(({ show }) => 'columns' in show)))('%s can be printed as CSV', async (id, operation) => {
    const site = await openFilledSite();
    const { configFile } = site;
    const { stdout } = await runCommand(
      ...lineOf(operation, inputOf(id, site)),
      '--output',
      'csv',
      '--config',
      configFile,
    );
    const titles = 'columns' in operation.show ? operation.show.columns.map(([title]) => title) : [];
    expect(stdout.split('\r\n')[0]).toBe(titles.join(','));
  });
});

describe('an input that does not fit', () => {
  const wrong = { 'no-such-field': 'x' };

  it.each(named(operations))('%s is refused at each door', async (id, operation) => {
    const site = await openFilledSite();
    const { consoleUrl, configFile } = site;
    const client = createApiClient(consoleUrl);
    const { status, body } = await client.send(id, operation.method === 'get' ? { query: wrong } : { body: wrong });
    expect([status, body['code']]).toEqual([400, 'invalid']);
    for (const where of operation.hasCommand
      ? [
          ['--config', configFile],
          ['--remote', consoleUrl],
        ]
      : []) {
      const refused = await runCommand(...lineOf(operation, inputOf(id, site)), '--no-such-field', 'x', ...where);
      expect([refused.status, refused.stdout]).toEqual([64, '']);
      expect(refused.stderr).toContain("unknown option '--no-such-field'");
    }
  });
});

describe('a viewer', () => {
  it.each(named(acts))('is refused %s by the API and by a command', async (id, operation) => {
    const { consoleUrl } = await openFilledSite();
    const { status, body } = await createApiClient(consoleUrl, 'vera').send(id, { body: {} });
    expect([status, body['code']]).toEqual([403, 'forbidden']);
    if (!operation.hasCommand) return;
    vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.vera.token);
    const line = lineOf(operation, { ...required(operation), ...inputs[id] });
    const refused = await runCommand(...line, '--remote', consoleUrl);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('only operators can do this')]);
  });
});

/** Anything for each field that is required. */
function required({ in: schema }: Operation): Record<string, string | number> {
  const member = schema instanceof z.ZodUnion ? (schema.options[0] as z.ZodType) : schema;
  const fields = [...fieldsOf(member)].filter(([, { isRequired }]) => isRequired);
  return Object.fromEntries(
    fields.map(([name, { type, choices }]) => [name, choices?.[0] ?? (type === 'text' ? 'x' : 1)]),
  );
}
