import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { toGuideline } from '../../src/guidelines/to-guideline.ts';
import { toHtml } from '../../src/guidelines/to-text.ts';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { readablePages } from '../support/guidelines/hostile-pages.ts';
import { publishFromFiles } from '../support/guidelines/manual-from-files.ts';
import { openManual } from '../support/guidelines/publish.ts';
import { harmIn, readHtml } from '../support/guidelines/read-shown.ts';
import { addProject } from '../support/label-studio/at-work.ts';
import { createLabelStudio, person } from '../support/label-studio/label-studio-harness.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';

/** From a manual that is published to the page that a trainer opens, in a Label Studio that really runs. */

const server = await openLabelStudio();
afterAll(() => server?.stop());

interface Shown {
  expert_instruction: string;
}

const { signal } = new AbortController();

describe.skipIf(server === null)(`guidelines in Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;

  async function open() {
    const adapter = createLabelStudio(site, { token: await site.personalToken(), onboarding: 'sign_up' });
    const { id } = await addProject(site, 'Street signs', 1);
    return { adapter, project: String(id) };
  }

  it('are what was published, for a trainer who has signed in, and nothing in them runs', async () => {
    const { adapter, project } = await open();
    const ada = person(301);
    await adapter.addMember('1', ada, signal);
    const session = await site.signIn(ada.email, ada.newPassword ?? '');
    const seen = async () => (await session?.call('GET', `/api/projects/${project}/`))?.body;
    const manual = await openManual();
    manual.publish();
    const html = toHtml((await manual.read(signal)).blocks);
    await adapter.writeGuidelines?.(project, html, signal);
    expect(await seen()).toMatchObject({ expert_instruction: html, show_instruction: true });
    expect(await adapter.readGuidelines?.(project, signal)).toBe(html);
    expect(harmIn(readHtml(html))).toEqual([]);
    expect(readHtml(html).textContent).toMatch(/^CarsWhat counts.*\[Image: a car\]LightsBelow$/s);

    manual.edit('Every car');
    expect(toHtml((await manual.read(signal)).blocks)).toBe(html);
    manual.publish();
    const next = toHtml((await manual.read(signal)).blocks);
    await adapter.writeGuidelines?.(project, next, signal);
    expect(await seen()).toMatchObject({
      expert_instruction: '<h1>Cars</h1><p>Every car</p><h2>Lights</h2><p>Below</p>',
    });
  });

  it('come from a folder of files, and follow at once when they are published', async () => {
    const { adapter, project } = await open();
    const token = await site.personalToken();
    const settings = { adapter: 'label-studio', url: site.url, token, offboarding: 'delete_user' };
    const own = { guidelines: true };
    const journey = await openEmployerJourney(sqlite, { own, tool: { settings, projects: [project, project] } });
    await journey.pass(60_000);
    const ben = person(302);
    await adapter.addMember('1', ben, signal);
    const session = await site.signIn(ben.email, ben.newPassword ?? '');
    await publishFromFiles(journey, async () => {
      const seen = (await session?.call('GET', `/api/projects/${project}/`))?.body as Shown | undefined;
      return readHtml(seen?.expert_instruction ?? '').structuredText.split('\n');
    });
  });

  it('are read back as they were written, whatever the manual says', async () => {
    const { adapter, project } = await open();
    await fc.assert(
      fc.asyncProperty(readablePages, async (pages) => {
        const html = toHtml(toGuideline({ pages }).blocks);
        await adapter.writeGuidelines?.(project, html, signal);
        expect(await adapter.readGuidelines?.(project, signal)).toBe(html);
      }),
      { numRuns: 60 },
    );
  });
});
