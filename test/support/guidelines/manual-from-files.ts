import { expect } from 'vitest';
import { createApiClient } from '../api-client.ts';
import type { EmployerJourney } from '../employer-journey.ts';
import { until } from '../until.ts';
import { pageOf } from './guideline-journey.ts';

interface Pushed {
  manuals: { manualId: string; result: string; changesetId: string | null; conflicts: string[] }[];
  files: Record<string, string | null>;
}

/**
 * A folder becomes a manual that trainers read: pushed, in conflict with what somebody else wrote, merged, submitted,
 * approved and published. The clock moves by less than the schedule of guidelines.
 *
 * @param shown what a trainer reads, line by line
 */
export async function publishFromFiles(
  { consoleUrl, sandbox, signs, live, quiet }: EmployerJourney,
  shown: () => Promise<string[]>,
): Promise<void> {
  const api = createApiClient(consoleUrl);
  let files: Record<string, string> = {
    'ws/signs/manual.json': JSON.stringify({ title: 'Signs', bindings: [{ kind: 'JOB', targetId: signs.id }] }),
    // No page, and more than the body of another request may have.
    'notes.md': 'x'.repeat(300_000),
    'ws/signs/signs.md': '---\ntitle: Signs\n---\n\nMark **every** sign.\n\n1. From the left\n2. To the right\n',
  };
  async function ask(id: string, more: object = {}): Promise<Pushed['manuals'][number]> {
    const body = { folder: files, ...more };
    const { manuals = [], files: written } = (await api.ask(id, {
      params: { install: 'own' },
      body,
    })) as unknown as Pushed;
    files = Object.fromEntries(
      Object.entries({ ...files, ...written }).filter(([, text]) => text !== null),
    ) as typeof files;
    return manuals[0] ?? { manualId: '', result: '', changesetId: null, conflicts: [] };
  }
  const edit = (name: string, from: string, to: string) => {
    files = { ...files, [name]: (files[name] ?? '').replace(from, to) };
  };

  const { manualId, result } = await ask('manualsPush');
  expect(result).toBe('changed');
  const pageId = /^id: (.*)$/m.exec(files['ws/signs/signs.md'] ?? '')?.[1] ?? '';
  sandbox.editPage(pageId, { content: pageOf('Mark no sign.') });
  edit('ws/signs/signs.md', 'To the right', 'To the far right');
  expect(await ask('manualsPush')).toMatchObject({ result: 'conflict' });
  expect(files['ws/signs/signs.theirs.md']).toContain('Mark no sign.');
  delete files['ws/signs/signs.theirs.md'];

  const submitted = await ask('manualsPush', { submit: true, replace: true });
  expect(submitted.result).toBe('submitted');
  const changeset = submitted.changesetId ?? '';
  const approved = await api.ask('reviewApprove', { params: { install: 'own', changeset }, body: {} });
  expect(approved).toMatchObject({ status: 'APPLIED' });
  await ask('manualsPull');
  expect(await ask('manualsDiff')).toMatchObject({ result: 'unchanged' });
  const before = await shown();
  await api.ask('manualsPublish', { params: { install: 'own', manual: manualId }, body: {} });
  const look = async () => {
    await live(1000);
    await quiet();
    return await shown();
  };
  const lines = await until('trainers read it', look, (found) => found.join() !== before.join());
  expect(lines.join('\n')).toMatch(/Mark every sign\.\n.*From the left\n.*To the far right/);
}
