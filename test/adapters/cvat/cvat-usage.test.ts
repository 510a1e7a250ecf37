import { describe, expect, it } from 'vitest';
import type { UsageObservation, UsageRequest } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import type { CvatAnswer } from '../../support/cvat-answer.ts';
import type { CvatEvent } from '../../support/cvat-events.ts';
import { type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';
import { openHttpFake } from '../../support/http-fake.ts';
import { readWork } from '../../support/read-work.ts';

const { signal } = new AbortController();
const since: UsageRequest = { timeZone: 'UTC', firstDay: '2026-03-01', changedSince: null };

async function openCvat(events: CvatEvent[], options: CvatFakeOptions = {}, changes: object = {}) {
  const tool = await openCvatFake(options);
  tool.events.push(...events);
  const adapter = createAdapter('studio', 'cvat', { ...tool.settings, ...changes });
  const read = async (request: Partial<UsageRequest> = {}, scope = '7', within = signal) =>
    (await readWork(adapter, scope, { ...since, ...request }, within)).work;
  return { tool, read };
}

function event(scope: string, timestamp: string, more: CvatEvent = {}): CvatEvent {
  const of = { project_id: '7', job_id: '31', user_id: '5', org_slug: 'street-signs' };
  return { ...of, scope, timestamp, payload: '{}', user_email: 'amara@opentrain.work', ...more };
}

const worked = (timestamp: string, duration: number, more: CvatEvent = {}) =>
  event('send:working_time', timestamp, { duration: String(duration), ...more });

const changed = (timestamp: string, more: CvatEvent) => event('update:job', timestamp, more);
const completed = { obj_name: 'state', obj_val: 'completed' };

function daysOf(observations: UsageObservation[]): unknown[] {
  return observations.map(({ memberId, of, ...rest }) => [memberId, of, ...Object.values(rest)]);
}

describe('the work in events', () => {
  it('is summed up for each person and day, in the requested time zone', async () => {
    const { read } = await openCvat([
      worked('2026-03-02 22:30:00', 60_000),
      worked('2026-03-02 23:30:00.250000', 30_400),
      worked('2026-03-03 10:00:00+00:00', 1000),
      worked('2026-03-03 10:00:00', 7000, { user_id: '6' }),
    ]);
    expect(daysOf(await read())).toEqual([
      ['5', 'day', '2026-03-02', 90, 0, 0],
      ['5', 'day', '2026-03-03', 1, 0, 0],
      ['6', 'day', '2026-03-03', 7, 0, 0],
    ]);
    expect(daysOf(await read({ timeZone: 'Europe/Berlin' }))).toEqual([
      ['5', 'day', '2026-03-02', 60, 0, 0],
      ['5', 'day', '2026-03-03', 31, 0, 0],
      ['6', 'day', '2026-03-03', 7, 0, 0],
    ]);
  });

  it("counts only the working time, not the durations of the editor's events", async () => {
    const { read } = await openCvat([
      worked('2026-03-02 10:00:00', 5000),
      event('draw:object', '2026-03-02 10:00:00', { duration: '4000' }),
      event('send:exception', '2026-03-02 10:00:00', { duration: '9000' }),
    ]);
    expect(await read()).toMatchObject([{ seconds: 5 }]);
  });

  it('reads the time from the payload if the duration is 0', async () => {
    const payload = '{"previous": "a, \\"b\\"", "working_time": 12000}';
    const { read } = await openCvat([worked('2026-03-02 10:00:00', 0, { payload })]);
    expect(await read()).toMatchObject([{ seconds: 12 }]);
  });

  it('counts new labels of every kind', async () => {
    const made = (scope: string, count: string) => event(scope, '2026-03-02 10:00:00', { count });
    const { read } = await openCvat([
      made('create:shapes', '3'),
      made('create:shapes', '2'),
      made('create:tracks', '1'),
      made('create:tags', '4'),
      made('update:shapes', '50'),
      made('delete:shapes', '50'),
    ]);
    expect(await read()).toMatchObject([{ labels: 10, seconds: 0, tasks: 0 }]);
  });

  it('counts a job that is completed once a day, and no other change of a job', async () => {
    const { read } = await openCvat([
      changed('2026-03-02 10:00:00', completed),
      changed('2026-03-02 11:00:00', { ...completed, obj_val: 'in progress' }),
      changed('2026-03-02 12:00:00', completed),
      changed('2026-03-02 12:00:00', { ...completed, job_id: '32' }),
      changed('2026-03-02 12:00:00', { obj_name: 'stage', obj_val: 'completed', job_id: '33' }),
      changed('2026-03-03 12:00:00', { obj_name: 'assignee', obj_val: '5' }),
    ]);
    expect(daysOf(await read())).toEqual([['5', 'day', '2026-03-02', 0, 0, 2]]);
  });

  it('has only the project, people, and the requested days', async () => {
    const { read, tool } = await openCvat([
      worked('2026-02-28 23:59:59', 1000),
      worked('2026-03-02 10:00:00', 2000),
      worked('2026-03-02 10:00:00', 4000, { project_id: '8' }),
      worked('2026-03-02 10:00:00', 8000, { org_slug: 'street-lamps' }),
      worked('2026-03-02 10:00:00', 16_000, { user_id: '' }),
    ]);
    expect(daysOf(await read())).toEqual([['5', 'day', '2026-03-02', 2, 0, 0]]);
    expect(tool.requests[0]?.line).toMatch(/^POST \/api\/events\/export\?/);
  });

  it('begins with the first day in the time zone, which in the far east is a day earlier in UTC', async () => {
    const { read } = await openCvat([worked('2026-02-28 10:59:59', 1000), worked('2026-02-28 11:00:00', 2000)]);
    expect(daysOf(await read({ timeZone: 'Pacific/Auckland' }))).toEqual([['5', 'day', '2026-03-01', 2, 0, 0]]);
  });

  it('begins with a whole day, and with the day before, if only changes are requested', async () => {
    const days = ['2026-03-08', '2026-03-09', '2026-03-10'];
    const { read } = await openCvat(days.map((day) => worked(`${day} 00:00:01`, 1000)));
    const changedSince = '2026-03-10T12:00:00.000Z';
    expect(daysOf(await read({ changedSince })).map((day) => (day as string[])[2])).toEqual([
      '2026-03-09',
      '2026-03-10',
    ]);
    expect(await read({ changedSince, firstDay: '2026-03-10' })).toHaveLength(1);
  });

  it('is read from a file whose fields have line breaks, commas and quotes', async () => {
    const payload = '{"message": "one,\r\ntwo \\"three\\"", "email": "x@y.example"}';
    const { read } = await openCvat([
      event('create:comment', '2026-03-02 10:00:00', { payload, obj_name: '"\n,\n"' }),
      worked('2026-03-02 10:00:00', 5000, { payload }),
    ]);
    expect(daysOf(await read())).toEqual([['5', 'day', '2026-03-02', 5, 0, 0]]);
  });
});

describe('an export of events', () => {
  it('that fails, as without analytics, is an error, not a day without work', async () => {
    const { read } = await openCvat([], { hasAnalytics: false });
    await expect(read()).rejects.toMatchObject({
      // A retry would not help.
      code: 'invalid',
      message: expect.stringContaining('"analytics": false') as string,
    });
    const spoil = (line: string, answer: CvatAnswer) =>
      line.startsWith('GET /api/requests') ? { status: 200, body: { status: 'failed' } } : answer;
    const { read: readOnce } = await openCvat([], { spoil });
    await expect(readOnce()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is polled by its whole id until it is ready', async () => {
    const { read, tool } = await openCvat([]);
    expect(await read()).toEqual([]);
    const id = encodeURIComponent('action=export&target=events&id=0/1&user_id=1');
    expect(tool.requests.map(({ line }) => line.split('?')[0]).slice(1)).toEqual([
      `GET /api/requests/${id}`,
      `GET /api/requests/${id}`,
      'GET /api/events/download',
    ]);
  });

  it('on another server is not requested, and the server does not get the token', async () => {
    const elsewhere = await openHttpFake((_, response) => void response.end('scope\r\n'));
    const { read, tool } = await openCvat([], {
      spoil: (_, answer) =>
        String(JSON.stringify(answer.body)).includes('finished')
          ? { ...answer, body: { status: 'finished', result_url: `${elsewhere.url}/events` } }
          : answer,
    });
    await expect(read()).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('another server') as string,
    });
    expect(elsewhere.requests).toEqual([]);
    expect(tool.requests.at(-1)?.line).not.toContain('download');
  });

  it('is fetched by https from a server that gives URLs with plain http', async () => {
    const { read } = await openCvat([worked('2026-03-02 10:00:00', 5000)], {
      spoil: (_, answer) => {
        const body = JSON.stringify(answer.body ?? null).replace('http://', 'https://');
        return { ...answer, body: JSON.parse(body) as unknown };
      },
    });
    expect(await read()).toHaveLength(1);
  });

  it('is found behind a proxy that serves CVAT under a path', async () => {
    const { tool } = await openCvat([worked('2026-03-02 10:00:00', 5000)]);
    const proxy = await openHttpFake(({ method = '', url = '', headers }, response) => {
      const { authorization = '', accept = '' } = headers;
      const inner = `${tool.url}${url.replace('/cvat/', '/')}`;
      void fetch(inner, { method, headers: { authorization, accept } })
        .then((answer) => answer.text())
        .then((text) => response.end(text.replaceAll(tool.url, proxy.url)));
    });
    const settings = { ...tool.settings, url: `${proxy.url}/cvat` };
    const adapter = createAdapter('studio', 'cvat', settings);
    const read = Array.fromAsync(adapter.readUsage?.('7', since, signal) ?? []);
    await expect(read).resolves.toHaveLength(1);
    expect(proxy.requests.every(({ line }) => line.includes(' /cvat/api/'))).toBe(true);
  });

  it.each([
    ['without a column', (csv: string) => csv.replace('duration', 'seconds')],
    ['that is no CSV', () => 'scope,"timestamp\r\namara@opentrain.work'],
    ['that is empty', () => ''],
    ['with a time that is none', (csv: string) => csv.replace('2026-03-02 10', 'yesterday')],
    ['with a count that is none', (csv: string) => csv.replace(',5000,', ',soon,')],
  ])('%s is an error without personal data', async (_what, spoilCsv) => {
    const { read } = await openCvat([worked('2026-03-02 10:00:00', 5000)], {
      spoil: (_, { csv, ...answer }) => (csv === undefined ? answer : { ...answer, csv: spoilCsv(csv) }),
    });
    const error = (await read().catch((failed: unknown) => failed)) as Error;
    expect(error).toMatchObject({ code: 'invalid' });
    expect(`${error.message} ${JSON.stringify(error.cause ?? null)}`).not.toContain('amara');
  });

  it('that takes longer than the time-out is given up', async () => {
    const { read } = await openCvat([], {
      spoil: (line, answer) => (line.includes('/api/requests/') ? { ...answer, body: { status: 'started' } } : answer),
    });
    await expect(read({}, '7', AbortSignal.timeout(300))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it.each(['', 'signs', '7/../8', '-1', '0'])('is not requested for %j', async (scope) => {
    const { read, tool } = await openCvat([]);
    await expect(read({}, scope)).rejects.toMatchObject({ code: 'invalid' });
    expect(tool.requests).toEqual([]);
  });
});

describe('the work in jobs', () => {
  it('is the number of completed jobs of each member, without days and without other counts', async () => {
    const { read, tool } = await openCvat([], {}, { analytics: false });
    const { state } = tool;
    for (const assigneeId of [5, 5, 5, 5, 6, null]) {
      state.assign('jobs', 'street-signs', { assigneeId, state: 'completed' });
    }
    state.createUser('one', 'one@x.example', true);
    state.users.push({ ...state.own, id: 5, username: 'five' }, { ...state.own, id: 6 });
    state.assign('jobs', 'street-signs', { assigneeId: 5, state: 'in progress' });
    state.assign('jobs', 'street-signs', { assigneeId: 5, state: 'completed', projectId: 8 });
    expect(await read()).toEqual([
      { memberId: '5', of: 'total', tasks: 4 },
      { memberId: '6', of: 'total', tasks: 1 },
    ]);
  });
});
