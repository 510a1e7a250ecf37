import { expect, it } from 'vitest';
import type { AdapterLink } from '../../../src/adapters/adapter.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { openSite, type SiteBridge } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const acme = { projects: ['acme-*'] };
const globex = { projects: ['globex-*'] };

describeAnyDialect('a customer links a project that is not theirs', (dialect) => {
  it.each([
    ['outside their patterns', 'lab-notes', { acme, globex }],
    ["of another's pattern", 'globex-signs', { acme, globex }],
    ['that another names more closely', 'globex-signs', { acme: { projects: ['*'] }, globex }],
    [
      'that another names by its id',
      'globex-signs',
      { acme: { projects: ['globex-*'] }, globex: { projects: ['globex-signs'] } },
    ],
    ["that is another's in another case", 'GLOBEX-signs', { acme: { projects: ['*'] }, globex }],
    ['that a server may resolve to another', 'acme-/../globex-signs', { acme, globex }],
    [
      'that a tool may parse as the number of another',
      '01',
      { acme: { projects: ['*'] }, globex: { projects: ['1'] } },
    ],
  ])('no trainer gets in, and it is reported: one %s', async (_which, project, installs) => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({ installs, tools: { studio: tool.adapter } });
    const isOpen = installs.acme.projects.includes('*');
    expect(site.log.text().includes('acme may reach every project of studio')).toBe(isOpen);
    // As a tool may do that takes ids for paths, in whatever case.
    for (const one of new Set([project, 'globex-signs'])) tool.seed(one, 'of-globex');
    const { jobId, link } = site.customer('acme');
    const linkId = await link(project);
    const { contractId } = site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: 'usr1' }] });
    await bridge.quiet();

    expect(await bridge.memberships()).toEqual([]);
    expect(tool.calls).toEqual([]);
    await untilAlerted(bridge);
    const alert = { alert: 'link_outside', install: 'acme', link: linkId, msg: expect.stringContaining(project) };
    expect(site.log.lines()).toContainEqual(expect.objectContaining(alert));

    // Nor does its end touch the member who is there for the other customer.
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
    await untilAlerted(bridge);
  });
});

describeAnyDialect('an adapter that fails on one project', (dialect) => {
  it('holds up no other link: only that one is outside, and it is reported', async () => {
    const tool = createMemoryTool();
    const groupFor = ({ externalProjectId }: AdapterLink) => {
      if (externalProjectId === 'acme-broken') throw new Error('could not read s3cret');
      return externalProjectId;
    };
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({
      installs: { acme, globex },
      tools: { studio: { ...tool.adapter, groupFor } },
    });
    const broken = await site.customer('acme').link('acme-broken');
    await site.customer('acme').link('acme-signs');
    await site.customer('globex').link('globex-signs');
    const hired = ['acme', 'globex'].map((name) => {
      const trainers = [{ opentrainUserId: `of-${name}` }];
      return site.sandbox.hire({ jobId: site.customer(name).jobId, trainers });
    });
    await bridge.quiet();
    expect(await bridge.memberships()).toEqual(['of-acme active', 'of-globex active']);
    expect(tool.calls.filter((call) => call.includes('broken'))).toEqual([]);

    await untilAlerted(bridge);
    const alerts = site.log.lines().filter((line) => line['alert'] === 'link_outside');
    const named = { install: 'acme', link: broken, msg: expect.stringContaining('has no group') };
    expect(alerts.length).toBeGreaterThan(0);
    for (const alert of alerts) expect(alert).toMatchObject(named);
    expect(JSON.stringify(site.log.lines())).not.toContain('s3cret');

    for (const { contractId } of hired) site.sandbox.endContract(contractId);
    await bridge.quiet();
    expect(tool.members('acme-signs')).toEqual([]);
    expect(tool.members('globex-signs')).toEqual([]);
  });
});

async function untilAlerted(bridge: SiteBridge): Promise<void> {
  await until(
    'it is alerted',
    () => countAlerts(bridge),
    (count) => count > 0,
  );
}

async function countAlerts({ consoleUrl }: SiteBridge): Promise<number> {
  const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
  const [, count] = /^gangway_alerts_total\{kind="link_outside"\} (\d+)$/m.exec(metrics) ?? [];
  return Number(count ?? 0);
}
