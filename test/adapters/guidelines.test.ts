import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { openCvatFake } from '../support/cvat-fake.ts';
import { type GuidelineTool, openDoccano, openStudio } from '../support/guidelines/guideline-journey.ts';
import { openFakeLabelStudio } from '../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../support/label-studio/label-studio-harness.ts';

const { signal } = new AbortController();

interface Opened {
  adapter: Adapter;
  projects: readonly [string, string];
}

const openers: [string, string, () => Promise<Opened>][] = [
  ['cvat', 'markdown', openCvat],
  ['label-studio', 'html', () => openTool(openStudio)],
  ['doccano', 'markdown', () => openTool(openDoccano)],
];

async function openCvat(): Promise<Opened> {
  const { settings, state } = await openCvatFake();
  const [one, other] = [0, 1].map(() => state.assign('projects', settings.organization).id);
  return { adapter: createAdapter('studio', 'cvat', settings), projects: [String(one), String(other)] };
}

async function openTool(open: () => Promise<GuidelineTool>): Promise<Opened> {
  const { settings, projects } = await open();
  const { adapter, ...others } = settings;
  return { adapter: createAdapter('studio', adapter, others), projects };
}

describe.each(openers)('guidelines in %s', (_, format, open) => {
  it('are in the stated format, and are replaced in one project only', async () => {
    const { adapter, projects } = await open();
    expect(adapter.capabilities.guidelines).toBe(format);
    expect(await adapter.readGuidelines?.(projects[0], signal)).toBe('');
    await adapter.writeGuidelines?.(projects[0], 'Every car', signal);
    await adapter.writeGuidelines?.(projects[0], 'Every whole car', signal);
    expect(await adapter.readGuidelines?.(projects[0], signal)).toBe('Every whole car');
    expect(await adapter.readGuidelines?.(projects[1], signal)).toBe('');
  });

  it.each(['0', '007', '1/../2', 'signs', ''])('are refused for %j, which is no project', async (project) => {
    const { adapter } = await open();
    await expect(async () => await adapter.readGuidelines?.(project, signal)).rejects.toMatchObject({
      code: 'invalid',
    });
    await expect(async () => await adapter.writeGuidelines?.(project, 'x', signal)).rejects.toMatchObject({
      code: 'invalid',
    });
  });

  it('of a missing project are not found', async () => {
    const { adapter } = await open();
    await expect(adapter.readGuidelines?.('999', signal)).rejects.toMatchObject({ code: 'not_found' });
  });
});

it('are shown before people begin, in Label Studio', async () => {
  const fake = await openFakeLabelStudio();
  const adapter = createLabelStudio(fake, { token: await fake.personalToken() });
  const { id } = fake.work.addProject('signs');
  await adapter.writeGuidelines?.(String(id), '<p>Every car</p>', signal);
  expect(fake.work.showProject(id)).toMatchObject({ expert_instruction: '<p>Every car</p>', show_instruction: true });
});
