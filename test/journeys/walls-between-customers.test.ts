import { expect, it, vi } from 'vitest';
import { describeEachDialect } from '../support/databases.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { openSite, type SiteBridge } from '../support/site.ts';

// Much of a journey is waiting for loops that look around once a second.
vi.setConfig({ testTimeout: 30_000 });

const acme = { projects: ['acme-*'] };
const globex = { projects: ['globex-*'] };

describeEachDialect('a customer links a project that is not theirs', (dialect) => {
  it.each([
    ['outside their patterns', 'lab-notes', { acme, globex }],
    ["of another's pattern", 'globex-signs', { acme, globex }],
    ['that another names more closely', 'globex-signs', { acme: { projects: ['*'] }, globex }],
    [
      'that another names by its id',
      'globex-signs',
      { acme: { projects: ['globex-*'] }, globex: { projects: ['globex-signs'] } },
    ],
  ])('nobody gets in, and it is reported: one %s', async (_which, project, installs) => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({ installs, tools: { studio: tool.adapter } });
    tool.seed(project, 'of-globex');
    const { jobId, link } = site.customer('acme');
    const linkId = await link(project);
    const { contractId } = site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: 'usr1' }] });
    await bridge.quiet();

    expect(await bridge.memberships()).toEqual([]);
    expect(tool.calls).toEqual([]);
    const alert = { alert: 'link_outside', install: 'acme', link: linkId, project };
    expect(site.log.lines()).toContainEqual(expect.objectContaining(alert));
    expect(await countAlerts(bridge)).toBeGreaterThan(0);

    // Nor does its end touch whoever is there for the other.
    site.sandbox.endContract(contractId);
    await bridge.quiet();
    expect(tool.calls).toEqual([]);
    expect(tool.members(project)).toEqual(['of-globex']);
  });

  it('while their own projects go on as ever, in the same tool', async () => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({
      installs: { acme, globex },
      tools: { studio: tool.adapter },
    });
    for (const [name, project] of [
      ['acme', 'acme-signs'],
      ['acme', 'globex-signs'],
      ['globex', 'globex-signs'],
    ] as const) {
      await site.customer(name).link(project);
    }
    for (const name of ['acme', 'globex']) {
      const { jobId } = site.customer(name);
      site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: `of-${name}` }] });
    }
    await bridge.quiet();
    expect(tool.members('acme-signs')).toEqual(['of-acme']);
    expect(tool.members('globex-signs')).toEqual(['of-globex']);
    expect(await countAlerts(bridge)).toBeGreaterThan(0);
  });
});

async function countAlerts({ consoleUrl }: SiteBridge): Promise<number> {
  const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
  const [, count] = /^gangway_alerts_total\{kind="link_outside"\} (\d+)$/m.exec(metrics) ?? [];
  return Number(count ?? 0);
}
