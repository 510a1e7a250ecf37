import assert from 'node:assert/strict';
import type { Adapter, Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { openCvatFake } from '../../support/cvat-fake.ts';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoHarness } from '../../support/doccano-harness.ts';
import { exampleSettings, sparseSettings } from '../../support/http-tool-settings.ts';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';
import { openRestTool } from '../../support/rest-tool.ts';
import { scimSettings } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';
import { openFakeNetwork, type SentRequest } from '../fetched.ts';
import type { Mutator } from '../mutator.ts';
import type { Opened, Target } from '../target.ts';
import { address, checkError, makeAnswer, refusals } from './http-answers.ts';
import { bodyOf, type Recording, record } from './recording.ts';

/** A fake tool whose answers are recorded, and its adapter for an address that replays them. */
interface Tool {
  url: string;
  /** Texts that no error may contain. */
  secrets: readonly string[];
  group: string;
  toAdapter(url: string): Adapter;
}

const password = 'Kq7-vLx2-mZ-trainer';

const person: Person = {
  trainerId: 'cmu0',
  email: 'trainer.0@opentrain.work',
  displayName: 'Trainer 0',
  memberId: null,
  newPassword: password,
};

const link = { externalProjectId: '1', externalProjectName: 'Street signs' };
const usageRequest = { timeZone: 'Europe/Lisbon', firstDay: '2026-03-01', changedSince: null };

type Run = (adapter: Adapter, group: string, signal: AbortSignal) => Promise<unknown> | undefined;

const member = { id: '2', email: person.email };

/** In the order of recording. */
const operations: Record<string, Run> = {
  check: (adapter, _, signal) => adapter.check(signal),
  identify: (adapter, _, signal) => adapter.identify?.(signal),
  add: (adapter, group, signal) => adapter.addMember(group, person, signal),
  find: (adapter, group, signal) => adapter.findMember(group, person, signal),
  findKnown: (adapter, group, signal) => adapter.findMember(group, { ...person, memberId: '2' }, signal),
  findAccount: (adapter, _, signal) => adapter.findAccount?.(person, signal),
  findAccountById: (adapter, _, signal) => adapter.findAccountById?.('2', signal),
  list: (adapter, group, signal) => listAtMost(adapter.listMembers?.(group, signal)),
  newcomers: (adapter, group, signal) => listAtMost(adapter.listNewcomers?.(group, '2026-03-01T00:00:00Z', signal)),
  usage: (adapter, _, signal) =>
    listAtMost(adapter.readUsage?.(adapter.usageScopeFor?.(link) ?? '', usageRequest, signal)),
  guidelines: (adapter, _, signal) => adapter.readGuidelines?.('1', signal),
  renew: (adapter, group, signal) => adapter.renewInvitation?.(group, member, signal),
  update: (adapter, group, signal) => adapter.updateEmail?.(group, member, 'new@opentrain.work', signal),
  endAssignments: (adapter, group, signal) => adapter.endAssignments?.(group, member, '1', signal),
  remove: (adapter, group, signal) => adapter.removeMember(group, member, signal),
  removeAccount: (adapter, group, signal) => adapter.removeAccount?.(group, member, signal),
};

const most = 20_000;
const mostRequests = 5000;

async function listAtMost<T>(rows: AsyncIterable<T> | undefined): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows ?? []) {
    all.push(row);
    assert.ok(all.length < most, 'a list without end');
  }
  return all;
}

const openers: Record<string, () => Promise<Tool>> = {
  async cvat() {
    const { url, token, settings } = await openCvatFake();
    const toAdapter = (at: string) => createAdapter('studio', 'cvat', { ...settings, url: at });
    return { url, secrets: [token], group: 'street-signs', toAdapter };
  },
  async doccano() {
    const fake = await openDoccanoFake();
    const { groups } = await doccanoHarness(fake);
    const toAdapter = (at: string) => createAdapter('studio', 'doccano', { url: at, ...fake.admin });
    return { url: fake.url, secrets: [fake.admin.password], group: groups[0], toAdapter };
  },
  async http() {
    const tool = await openRestTool();
    const toAdapter = (at: string) => createAdapter('studio', 'http', exampleSettings({ ...tool, url: at }));
    return { url: tool.url, secrets: [tool.token], group: 'street-signs', toAdapter };
  },
  async 'http, by Link headers'() {
    const tool = await openRestTool({ paging: 'link_header', refusesRepeats: false });
    for (let count = 0; count < 5; count += 1) tool.seed('street-signs', `other.${count}@x.example`);
    const toSettings = (url: string) => sparseSettings({ ...tool, url }, 'link_header');
    const toAdapter = (at: string) => createAdapter('studio', 'http', toSettings(at));
    return { url: tool.url, secrets: [tool.token], group: 'street-signs', toAdapter };
  },
  async 'label-studio'() {
    const fake = await openFakeLabelStudio();
    const settings = { token: await fake.personalToken(), onboarding: 'sign_up' };
    const toAdapter = (url: string) => createLabelStudio({ ...fake, url }, settings);
    return { url: fake.url, secrets: [settings.token], group: '1', toAdapter };
  },
  async scim() {
    const tool = await openScimTool({ pageSize: 2 }, ['street-signs']);
    for (const name of ['one', 'two', 'three']) tool.seed({ userName: `${name}@x.example` }, 'street-signs');
    const toAdapter = (url: string) => createAdapter('studio', 'scim', scimSettings({ ...tool, url }));
    return { url: tool.url, secrets: [tool.token], group: 'street-signs', toAdapter };
  },
};

export const toolAnswers: readonly Target[] = Object.entries(openers).map(([name, openTool]) => ({
  name: `answers of tools: ${name}`,
  inputs: { long: 5000, short: 250 },
  reaches: ['done', 'invalid', 'unavailable'],
  // Some adapters wait before a retry.
  atOnce: 100,
  open: async () => await open(await openTool()),
}));

async function open(tool: Tool): Promise<Opened> {
  const recording = await record(async () => {
    const adapter = tool.toAdapter(tool.url);
    const { signal } = new AbortController();
    for (const run of Object.values(operations)) await run(adapter, tool.group, signal)?.catch(() => undefined);
  });
  const network = openFakeNetwork();
  const hidden = [...tool.secrets, address, person.email, password];
  const quoting = [
    ...refusals,
    { detail: hidden.slice(0, -1).join(' ') },
    { message: `${person.email}: ${tool.secrets[0]}` },
  ];
  // A tool cannot quote what it was never sent.
  const quotingAll = [...quoting, { detail: hidden.join(' ') }, [`The password ${password} is too common.`]];

  async function judge(chance: Mutator): Promise<string> {
    const [name, run] = chance.pick(Object.entries(operations));
    let requests = 0;
    const host = network.serve((request) => {
      requests += 1;
      if (requests > mostRequests) return new Response(null, { status: 404 });
      if (!chance.oneIn(15)) return answerFrom({ recording, tool, host }, chance, request);
      return makeAnswer(chance, request.body.includes(password) ? quotingAll : quoting);
    });
    const adapter = tool.toAdapter(`https://${host}${new URL(tool.url).pathname}`.replace(/\/$/, ''));
    // Long enough for a few retries.
    const stop = AbortSignal.timeout(20_000);
    try {
      checkAnswer(await run(adapter, tool.group, stop));
      return 'done';
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return stop.aborted ? 'stopped' : checkError(error, hidden);
    } finally {
      network.forget(host);
      assert.ok(requests <= mostRequests, `${name} asks without end`);
    }
  }
  return { judge, close: network.close };
}

interface Replayed {
  recording: Recording;
  tool: Tool;
  host: string;
}

/** What the tool answered to a similar request, slightly changed. */
function answerFrom({ recording, tool, host }: Replayed, chance: Mutator, request: SentRequest): Response {
  const { status, headers, text } = bodyOf(recording, request);
  // Links to further pages must lead back to this fake host.
  const move = (valid: string) => valid.replaceAll(new URL(tool.url).origin, `https://${host}`);
  const moved = Object.entries(headers).map(([name, value]): [string, string] => {
    const isChanged = name === 'link' && chance.oneIn(4);
    const link = isChanged ? chance.text(move(value)).replaceAll(/[^\x20-\x7e]/g, '?') : move(value);
    return [name, link];
  });
  if ([204, 304].includes(status)) return new Response(null, { status, headers: moved });
  return new Response(chance.oneIn(4) ? move(text) : changeBody(chance, move(text)), { status, headers: moved });
}

function changeBody(chance: Mutator, text: string): Buffer {
  try {
    return chance.json(JSON.parse(text));
  } catch {
    return chance.bytes(Buffer.from(text));
  }
}

/** Ids of members must be text, and counts of work must not be negative. */
function checkAnswer(answer: unknown): void {
  for (const row of [answer].flat()) {
    const { id, memberId, email, seconds, tasks, labels } = Object(row) as Record<string, unknown>;
    for (const one of [id, memberId]) assert.ok(isAbsent(one) || (typeof one === 'string' && one !== ''), String(one));
    assert.ok(isAbsent(email) || typeof email === 'string', String(email));
    for (const count of [seconds, tasks, labels]) {
      assert.ok(isAbsent(count) || (Number.isFinite(count) && Number(count) >= 0), String(count));
    }
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
