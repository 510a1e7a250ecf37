import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toGuideline } from '../../src/guidelines/to-guideline.ts';
import { toMarkdown } from '../../src/guidelines/to-text.ts';
import { sqlite } from '../support/databases.ts';
import { doccanoAdapter, doccanoPerson } from '../support/doccano-harness.ts';
import { actAs, type DoccanoSite, makeProject } from '../support/doccano-site.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { readablePages } from '../support/guidelines/hostile-pages.ts';
import { publishFromFiles } from '../support/guidelines/manual-from-files.ts';
import { openManual } from '../support/guidelines/publish.ts';
import { harmIn, shownByMarkdown } from '../support/guidelines/read-shown.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';

/** From a manual that is published to the page that a trainer opens, in a doccano that really runs. */

let server: DoccanoServer | null = null;
beforeAll(async () => {
  server = await openDoccano();
});
afterAll(async () => await server?.stop());

const { signal } = new AbortController();

async function open(site: DoccanoSite) {
  const project = await makeProject(await actAs(site, site.admin), 'Street signs', 'spans');
  return { adapter: doccanoAdapter(site), project: String(project) };
}

describe(`guidelines in doccano ${doccanoVersion}`, () => {
  it('are what was published, for a trainer who has logged in, and nothing in them runs', async ({ skip }) => {
    if (server === null) return skip();
    const { adapter, project } = await open(server);
    const ada = doccanoPerson('ada.reads');
    await adapter.addMember(project, ada, signal);
    const trainer = await actAs(server, { username: ada.email, password: ada.newPassword });
    const seen = () => trainer.ask('GET', `/projects/${project}`);
    const manual = await openManual();
    manual.publish();
    const markdown = toMarkdown((await manual.read(signal)).blocks);
    await adapter.writeGuidelines?.(project, markdown, signal);
    expect(await seen()).toMatchObject({ guideline: markdown });
    expect(await adapter.readGuidelines?.(project, signal)).toBe(markdown);
    expect(harmIn(shownByMarkdown(markdown))).toEqual([]);
    expect(markdown).toMatch(/^# Cars\n\n## What counts\n.*\\\[Image: a car\\\]\n\n## Lights\n\nBelow$/s);

    manual.edit('Every car');
    expect(toMarkdown((await manual.read(signal)).blocks)).toBe(markdown);
    manual.publish();
    await adapter.writeGuidelines?.(project, toMarkdown((await manual.read(signal)).blocks), signal);
    expect(await seen()).toMatchObject({
      guideline: '# Cars\n\nEvery car\n\n## Lights\n\nBelow',
      project_type: 'SequenceLabeling',
      resourcetype: 'SequenceLabelingProject',
    });
  });

  it('come from a folder of files, and follow at once when they are published', async ({ skip }) => {
    if (server === null) return skip();
    const { adapter, project } = await open(server);
    const settings = { adapter: 'doccano', url: server.url, ...server.admin };
    const own = { guidelines: true };
    const journey = await openEmployerJourney(sqlite, { own, tool: { settings, projects: [project, project] } });
    await journey.pass(60_000);
    const ben = doccanoPerson('ben.reads');
    await adapter.addMember(project, ben, signal);
    const trainer = await actAs(server, { username: ben.email, password: ben.newPassword });
    await publishFromFiles(journey, async () => {
      const { guideline } = await trainer.ask<{ guideline: string }>('GET', `/projects/${project}`);
      return shownByMarkdown(guideline).structuredText.split('\n');
    });
  });

  it('are read back as they were written, whatever the manual says', async ({ skip }) => {
    if (server === null) return skip();
    const { adapter, project } = await open(server);
    await fc.assert(
      fc.asyncProperty(readablePages, async (pages) => {
        const markdown = toMarkdown(toGuideline({ pages }).blocks);
        await adapter.writeGuidelines?.(project, markdown, signal);
        expect(await adapter.readGuidelines?.(project, signal)).toBe(markdown);
      }),
      { numRuns: 150 },
    );
  });
});
