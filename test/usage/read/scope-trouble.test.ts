import { expect, it } from 'vitest';
import type { Source } from '../../../src/marketplace/source.ts';
import { listLinks } from '../../../src/operations/links.ts';
import { reportNow } from '../../../src/usage/report/report-worker.ts';
import { tellNow } from '../../support/alerting.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { troublesIn } from '../../support/troubles.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const { signal } = new AbortController();
const installs = new Map([['acme', { tool: 'studio', projects: ['*'] }]]);

describeAnyDatabase('a work scope', (openFresh) => {
  /** Two linked scopes, one of which the tool does not have. */
  async function openGone({ wasRead }: { wasRead: boolean }) {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool, ctx, api } = world;
    await world.link('signs');
    const linkId = await world.link('lamps');
    world.hire();
    await world.learn();
    if (wasRead) await world.read();
    engine.clock.advance(minuteMs);
    tool.goneScopes.add('lamps');
    const alerts = async () => {
      await tellNow(engine);
      return engine.log.lines().flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
    };
    const troubles = async () => (await troublesIn(engine, installs)).map(({ says, detail }) => `${says} ${detail}`);
    const listWork = async () => {
      const links = (await api('GET', '/project-links')) as { projectLinks: never[] };
      const source = { ...(ctx.sources.get('acme') as Source), listLinks: async () => links.projectLinks };
      const listed = await listLinks({ ...ctx, sources: new Map([['acme', source]]) }, ['acme'], signal);
      return Object.fromEntries(listed.links.map(({ project, work }) => [project, work?.state]));
    };
    const readAgain = async (afterMs: number) => {
      engine.clock.advance(afterMs);
      await world.read();
    };
    return { ...world, linkId, alerts, troubles, listWork, readAgain };
  }

  it('raises one alert after a while if it is gone', async () => {
    const { readAgain, alerts, troubles, listWork, tool } = await openGone({ wasRead: true });
    await readAgain(0);
    expect(await alerts()).toEqual([]);
    await readAgain(minuteMs);
    await readAgain(hourMs);
    expect(await alerts()).toEqual(['usage_gone']);
    expect(await troubles()).toEqual([
      expect.stringMatching(/^Tool “studio” has no project lamps\. .*There is no lamps$/),
    ]);
    expect(await listWork()).toEqual({ signs: 'read', lamps: 'gone' });
    await readAgain(24 * hourMs);
    expect(await alerts()).toEqual(['usage_gone']);
    tool.goneScopes.delete('lamps');
    await readAgain(minuteMs);
    expect(await troubles()).toEqual([]);
    expect(await listWork()).toEqual({ signs: 'read', lamps: 'read' });
  });

  it('raises an alert after a while if it could never be read, whatever the tool answers', async () => {
    const { readAgain, alerts, troubles, listWork, tool } = await openGone({ wasRead: false });
    tool.goneScopes.clear();
    tool.refusedScopes.add('lamps');
    await readAgain(0);
    expect(await troubles()).toEqual([expect.stringMatching(/^No work could be read yet from “studio”: lamps\. /)]);
    expect(await listWork()).toEqual({ signs: 'read', lamps: 'failing' });
    expect(await alerts()).toEqual([]);
    await readAgain(10 * minuteMs);
    await readAgain(minuteMs);
    expect(await alerts()).toEqual(['usage_never_read']);
  });

  it('raises no alert and fails no report if it is gone together with its link', async () => {
    const world = await openGone({ wasRead: true });
    const { api, linkId, tool, ctx, learn, readAgain, alerts, troubles } = world;
    const report = async () => (await reportNow(ctx, async () => undefined, { installs: ['acme'] }, now)).unread;
    const now = { waitMs: 0, signal };
    expect(await report()).toMatchObject([{ scope: 'lamps' }]);
    // A trainer is still in its group.
    await api('DELETE', `/project-links/${linkId}`);
    for (let reading = 0; reading < 2; reading += 1) {
      await learn();
      await readAgain(hourMs);
    }
    await readAgain(hourMs);
    expect(tool.requests.length).toBeGreaterThan(4);
    expect(await troubles()).toEqual([]);
    await readAgain(25 * hourMs);
    expect(await alerts()).toEqual([]);
    expect(await report()).toEqual([]);
  });
});
