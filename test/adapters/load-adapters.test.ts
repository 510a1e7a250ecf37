import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Person } from '../../src/adapters/adapter.ts';
import { loadAdapter, loadAdapters } from '../../src/adapters/load-adapters.ts';
import { Config } from '../../src/config/config-schema.ts';
import { AppError } from '../../src/domain/errors.ts';
import { createFolder } from '../support/folder.ts';
import { installExamplePackage, trackerFile } from '../support/foreign-adapters.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { listAll } from '../support/list-all.ts';

const { signal } = new AbortController();
const person: Person = { trainerId: 'cmu1', email: 'amara@opentrain.work', displayName: null, memberId: null };
const token = 'hunter2-hunter2';

/** A file with an adapter in which this is replaced. */
function writeAdapter(parts: string, before = ''): string {
  const file = path.join(createFolder(), 'my-tool.js');
  writeFileSync(
    file,
    `export default (kit) => { ${before}
      return {
        capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'group' },
        async check() {},
        groupFor: (link) => link.externalProjectId,
        async findMember() { return null; },
        async addMember() { return { id: '1', email: null }; },
        async removeMember() {},
        ${parts}
      };
    };\n`,
  );
  return file;
}

function load(adapter: string, settings: Record<string, unknown> = { token }) {
  return loadAdapter('studio', { adapter, settings });
}

async function failureOf(call: Promise<unknown>): Promise<AppError> {
  const error: unknown = await call.then(
    () => 'it succeeds',
    (failed: unknown) => failed,
  );
  expect(error).toBeInstanceOf(AppError);
  expect(inspect(error, { depth: 10 })).not.toMatch(/hunter2|amara@/);
  return error as AppError;
}

it("describes faults in the settings of a built-in adapter in Gangway's words", async () => {
  const settings = { url: 'https://cvat.example.com', token, organization: 'signs', role: 'boss', concurrent: 3 };
  const says =
    'tools.studio.role: must be one of: worker, supervisor, maintainer; tools.studio: unknown key: concurrent';
  await expect(load('cvat', settings)).rejects.toThrow(says);
});

describe('custom adapters', () => {
  it('are loaded for every tool, besides the built-in adapters', async () => {
    const { tools } = Config.parse({
      tools: {
        list: { adapter: 'roster', path: '/tmp/roster.json' },
        tracker: { adapter: trackerFile, url: 'http://127.0.0.1:9', token },
        example: { adapter: installExamplePackage() },
      },
    });
    const adapters = await loadAdapters({ tools });
    expect([...adapters.keys()]).toEqual(['list', 'tracker', 'example']);
    expect(adapters.get('example')?.capabilities.removal.effect).toBe('membership_only');
  });

  it.each([
    ['/nowhere/my-tool.ts', /^tools\.studio\.adapter: \/nowhere\/my-tool\.ts,? /],
    [
      'gangway-adapter-missing',
      /^tools\.studio\.adapter: there is no "gangway-adapter-missing", neither built in \([\w, -]+\)/,
    ],
    ['node:fs', /there is no "node:fs"; there is: [\w, -]+$/],
    ['https://evil.example/x.js', /there is no "https:/],
    ['../my-tool.ts', /there is no "\.\.\/my-tool\.ts"/],
    ['data:text/javascript,export default 1', /there is no "data:/],
  ])('%s cannot be loaded, and the error says why', async (kind, message) => {
    const error = await failureOf(load(kind));
    expect(error.code).toBe('invalid');
    expect(error.message).toMatch(message);
  });

  it.each([
    ['that cannot be run', 'export default (kit => {', /my-tool\.js cannot be loaded: /],
    ['without a default function', 'export const create = 0;', /my-tool\.js has no default export that is a function/],
  ])('are refused: code %s', async (_what, code, says) => {
    const file = path.join(createFolder(), 'my-tool.js');
    writeFileSync(file, code);
    expect(await failureOf(load(file))).toMatchObject({ code: 'invalid', message: expect.stringMatching(says) });
  });

  it.each([
    ['findMember: undefined, removeMember: 7,', 'no findMember(); no removeMember()'],
    ['listMembers: [],', 'listMembers is not a function'],
    ['capabilities: undefined,', 'no capabilities'],
    [
      "capabilities: { removal: { effect: 'membership_only', reason: ' ' }, readding: 'yes', exclusive: 'all' },",
      'no capabilities.removal: {effect: "locks_out"} or {effect: "membership_only", reason: "…"}; no capabilities.exclusive: "membership", "group" or "tool"',
    ],
  ])('are refused with %s', async (parts, missing) => {
    const { code, message } = await failureOf(load(writeAdapter(parts)));
    expect(code).toBe('invalid');
    expect(message.endsWith(`my-tool.js is not an adapter: ${missing}`)).toBe(true);
  });

  it('can refuse their settings', async () => {
    await expect(load(trackerFile, { token })).rejects.toThrow('The tool needs "url" and "token"');
    const file = writeAdapter('', `throw new TypeError('no ' + kit.settings.token)`);
    const { code, message } = await failureOf(load(file));
    expect(code).toBe('invalid');
    expect(message).toMatch(/The adapter's default export failed: TypeError at my-tool\.js:\d+$/);
  });
});

describe('an error of a custom adapter', () => {
  const leak = "throw new Error(kit.settings.token + ' amara@opentrain.work')";

  it('says only where it was thrown, unless it is an error of the kit', async () => {
    const adapter = await load(
      writeAdapter(`
        async check() { ${leak}; },
        groupFor() { ${leak}; },
        async findMember() { throw kit.settings.token; },
        async removeMember() { throw kit.error('forbidden', 'not with ' + kit.settings.token, { status: 403 }); },
        async *listMembers() { yield { id: '1', email: null }; ${leak}; },`),
    );
    const where = / failed: Error at my-tool\.js:\d+$/;
    const member = { id: '1', email: null };
    const check = await failureOf(adapter.check(signal));
    expect(check).toMatchObject({ code: 'internal', message: expect.stringMatching(where) });
    const link = { externalProjectId: 'p', externalProjectName: null };
    const group = await failureOf((async () => adapter.groupFor(link))());
    expect(group.message).toMatch(/^The adapter's groupFor failed: Error at /);
    expect((await failureOf(adapter.findMember('p', person, signal))).message).toBe(
      "The adapter's findMember failed: it threw something other than an error",
    );
    expect(await failureOf(adapter.removeMember('p', member, signal))).toMatchObject({
      code: 'forbidden',
      message: 'not with …',
      status: 403,
    });
    expect((await failureOf(listAll(adapter, 'p', signal))).message).toMatch(where);
  });

  it('is "unavailable" if the call was given up', async () => {
    const adapter = await load(writeAdapter(`async check() { ${leak}; },`));
    expect((await failureOf(adapter.check(AbortSignal.abort()))).code).toBe('unavailable');
  });
});

describe('an answer of a custom adapter', () => {
  it.each([
    ['async findMember() {},', 'findMember answered no member'],
    ["async findMember() { return { id: 7, email: 'a@b' }; },", 'findMember answered a member whose id is not a text'],
    [
      "async addMember() { return { id: '7' }; },",
      'addMember answered a member whose email is neither a text nor null',
    ],
    ['async *listMembers() { yield null; },', 'listMembers answered no member'],
  ])('is checked: %s', async (parts, said) => {
    const adapter = await load(writeAdapter(`async *listMembers() {}, ${parts}`));
    const calls = [
      adapter.findMember('p', person, signal),
      adapter.addMember('p', person, signal),
      listAll(adapter, 'p', signal),
    ];
    const outcomes = await Promise.allSettled(calls);
    const messages = outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as AppError).message] : []));
    expect(messages).toEqual([`The adapter's ${said}`]);
  });

  it('is a group only if it is text', async () => {
    const adapter = await load(writeAdapter('groupFor: () => 7,'));
    const link = { externalProjectId: 'p', externalProjectName: null };
    expect(() => adapter.groupFor(link)).toThrow("The adapter's groupFor answered no text");
  });

  it('is a form of a project id only if it is text or null', async () => {
    const knowing = await load(writeAdapter('canonicalGroup: (id) => (id === "0" ? null : id),'));
    expect(['0', '1'].map((id) => knowing.canonicalGroup?.(id))).toEqual([null, '1']);
    const wrong = await load(writeAdapter('canonicalGroup: () => 7,'));
    expect(() => wrong.canonicalGroup?.('1')).toThrow("The adapter's canonicalGroup answered neither a text nor null");
    expect((await load(writeAdapter(''))).canonicalGroup).toBeUndefined();
  });
});

describe('the kit', () => {
  it('masks settings and addresses that the tool quotes', async () => {
    const { url } = await openHttpFake((_, response) => {
      sendJson(response, { error: `${token} and amara%40opentrain.work` }, 400);
    });
    const file = writeAdapter(
      `async check(signal) { await kit.request({ url: kit.settings.url, signal, purpose: 'look', secrets: ['amara@opentrain.work'] }); },`,
    );
    const adapter = await load(file, { url, auth: [{ key: token }] });
    const error = await failureOf(adapter.check(signal));
    expect(error.message).toBe('Could not look: answered 400: … and …');
  });

  it('sends nothing over plain http to another machine, unless allowed', async () => {
    const file = writeAdapter(
      `async check(signal) { await kit.request({ url: kit.settings.url, signal, purpose: 'look' }); },`,
    );
    const url = 'http://tool.invalid/';
    const refused = await failureOf((await load(file, { url })).check(signal));
    expect(refused.message).toBe('Plain http to another machine needs "allowHttp": true');
    const allowed = await failureOf((await load(file, { url, allowHttp: true })).check(signal));
    expect(allowed.code).toBe('unavailable');
    const none = await failureOf((await load(file, { url: 'nothing' })).check(signal));
    expect(none.code).toBe('invalid');
  });
});
