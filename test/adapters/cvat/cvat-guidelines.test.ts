import { expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { brokenDown } from '../../support/cvat-answer.ts';
import { type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';

const { signal } = new AbortController();
const [org, elsewhere] = ['street-signs', 'street-lamps'];

async function open(options: CvatFakeOptions = {}) {
  const tool = await openCvatFake(options);
  const project = tool.state.assign('projects', org).id;
  return { ...tool, adapter: createAdapter('studio', 'cvat', tool.settings), project };
}

it('creates one guide for a project and changes it afterwards, in the configured organization', async () => {
  const { adapter, project, requests, state } = await open();
  await adapter.writeGuidelines?.(String(project), '', signal);
  expect(state.guides).toEqual([]);
  await adapter.writeGuidelines?.(String(project), '# Cars', signal);
  await adapter.writeGuidelines?.(String(project), '# Whole cars', signal);
  const [guide] = state.guides;
  expect(state.guides).toMatchObject([{ projectId: project, markdown: '# Whole cars' }]);
  const written = requests.filter(({ line }) => !line.startsWith('GET'));
  expect(written.map(({ line, body }) => [line, body])).toEqual([
    [`POST /api/guides?org=${org}`, { project_id: project, markdown: '# Cars' }],
    [`PATCH /api/guides/${guide?.id}`, { markdown: '# Whole cars' }],
  ]);
});

it('neither reads nor writes the guide of a project in another organization, which CVAT would allow', async () => {
  const { adapter, state } = await open();
  const { id } = state.assign('projects', elsewhere);
  state.addGuide(id, 'theirs');
  await expect(adapter.readGuidelines?.(String(id), signal)).rejects.toMatchObject({ code: 'not_found' });
  await expect(adapter.writeGuidelines?.(String(id), 'ours', signal)).rejects.toMatchObject({ code: 'not_found' });
  expect(state.guides).toMatchObject([{ markdown: 'theirs' }]);
});

it('changes the guide that another call, or one without an answer, has created meanwhile', async () => {
  const spoil: CvatFakeOptions['spoil'] = (line, answer) => {
    return line.startsWith('POST /api/guides') ? brokenDown : answer;
  };
  const { adapter, project, state } = await open({ spoil });
  const first = adapter.writeGuidelines?.(String(project), '# Cars', signal);
  await expect(first).rejects.toMatchObject({ code: 'unavailable' });
  await adapter.writeGuidelines?.(String(project), '# Whole cars', signal);
  expect(state.guides).toMatchObject([{ markdown: '# Whole cars' }]);
});

it('is refused with a token that is read-only', async () => {
  const { adapter, project } = await open({ isReadOnly: true });
  const refused = adapter.writeGuidelines?.(String(project), '# Cars', signal);
  await expect(refused).rejects.toMatchObject({ code: 'forbidden', status: 403 });
});
