import { describe, expect, it } from 'vitest';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoAdapter } from '../../support/doccano-harness.ts';
import { openProject } from '../../support/doccano-site.ts';
import { readWork } from '../../support/read-work.ts';

const { signal } = new AbortController();
const request = { timeZone: 'UTC', firstDay: '2026-01-01', changedSince: null };

async function openReading() {
  const fake = await openDoccanoFake();
  const { admin, project } = await openProject(fake, 'signs', 'spans');
  const adapter = doccanoAdapter(fake);
  const readAll = () => readWork(adapter, String(project), request, signal);
  const read = async () => (await readAll()).work;
  const metrics = `GET /projects/${project}/metrics`;
  const person = { memberId: String(admin.id), email: admin.username };
  return { fake, readAll, read, metrics, person };
}

describe('the usage that the adapter doccano reads', () => {
  it('adds up labels of every kind that the project has', async () => {
    const { fake, read, metrics, person } = await openReading();
    const spans = JSON.parse('{"admin": {"sign": 2, "__proto__": 3}}') as object;
    fake.answerWith(`${metrics}/span-distribution`, { status: 200, body: spans });
    const relations = { admin: { of: 4 } };
    fake.answerWith(`${metrics}/relation-distribution`, { status: 200, body: relations });
    expect(await read()).toEqual([{ ...person, of: 'total', tasks: 0, labels: 9 }]);
  });

  it('has no labels at all if one kind cannot be counted', async () => {
    const { fake, readAll, metrics, person } = await openReading();
    expect((await readAll()).gaps).toEqual([]);
    fake.answerWith(`${metrics}/relation-distribution`, { status: 500, body: '<html></html>' });
    const { work, gaps } = await readAll();
    expect(work).toEqual([{ ...person, of: 'total', tasks: 0 }]);
    expect(gaps).toEqual([expect.stringMatching(/^doccano counts no labels in a project/)]);
  });

  it.each([502, 503, 504, 429, 403, 404])('fails if a part is answered %d', async (status) => {
    const { fake, read, metrics } = await openReading();
    fake.answerWith(`${metrics}/span-distribution`, { status, body: {} });
    await expect(read()).rejects.toMatchObject({ status });
  });

  it.each([
    ['no JSON', '<html></html>'],
    ['no counts', { admin: { sign: 'two' } }],
    ['less than nothing', { admin: { sign: -1 } }],
    ['a list', []],
  ])('fails if labels are %s', async (_what, body) => {
    const { fake, read, metrics } = await openReading();
    fake.answerWith(`${metrics}/span-distribution`, { status: 200, body });
    await expect(read()).rejects.toMatchObject({ code: 'invalid' });
  });

  it('fails if a username in it is unknown', async () => {
    const { fake, read, metrics } = await openReading();
    const progress = [{ user: 'renamed@opentrain.work', done: 3 }];
    fake.answerWith(`${metrics}/member-progress`, { status: 200, body: { total: 3, progress } });
    await expect(read()).rejects.toMatchObject({ code: 'unavailable' });
  });
});
