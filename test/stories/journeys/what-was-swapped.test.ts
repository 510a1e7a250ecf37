import { expect, it } from 'vitest';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import type { Dialect } from '../../support/databases.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { openSite, type Site } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;

/** One person of each of two customers, who share a tool. */
async function openStaffedSite(dialect: Dialect) {
  const tool = createMemoryTool();
  const site = await openSite(dialect, ['acme', 'globex']);
  const bridge = await site.start({ tools: { studio: tool.adapter }, isRestored: true });
  const contracts: string[] = [];
  for (const name of ['acme', 'globex']) {
    await site.customer(name).link(`${name}-signs`);
    const { jobId } = site.customer(name);
    const trainers = [{ opentrainUserId: `of-${name}` }];
    contracts.push(site.sandbox.hire({ jobId, trainers }).contractId);
  }
  await bridge.quiet();
  expect(await bridge.memberships()).toEqual(['of-acme active', 'of-globex active']);
  await bridge.stop();
  tool.calls.length = 0;
  return { tool, site, contracts };
}

describeAnyDialect('the tokens of two customers, swapped in the configuration', (dialect) => {
  it('take no member out, and say so, until they are put right', async () => {
    const { tool, site, contracts } = await openStaffedSite(dialect);
    const swapped = {
      acme: { projects: ['acme-*'], tokenOf: 'globex' },
      globex: { projects: ['globex-*'], tokenOf: 'acme' },
    };
    const alerted = async () =>
      new Set(site.log.lines().flatMap(({ alert, install }) => (alert === 'other_customer' ? [install] : [])));
    for (let count = 0; count < 4; count += 1) {
      site.clock.advance(30 * minuteMs);
      const bridge = await site.start({ installs: swapped, tools: { studio: tool.adapter }, isRestored: true });
      await bridge.quiet();
      expect(await bridge.memberships()).toEqual(['of-acme active', 'of-globex active']);
      await until('it is alerted', alerted, ({ size }) => size === 2);
      await bridge.stop();
    }
    expect(tool.calls).toEqual([]);
    expect(await alerted()).toEqual(new Set(['acme', 'globex']));

    const mended = await site.start({ tools: { studio: tool.adapter }, isRestored: true });
    const { jobId } = site.customer('acme');
    site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: 'new-to-acme' }] });
    site.sandbox.endContract(contracts[1] ?? '');
    await mended.quiet();
    expect(tool.members('acme-signs').sort()).toEqual(['new-to-acme', 'of-acme']);
    expect(tool.members('globex-signs')).toEqual([]);
  });
});

/** Two people. @returns the contract of the second */
async function hireInSigns({ customer, sandbox }: Site, name: string): Promise<string> {
  const { jobId, link } = customer(name);
  await link('signs');
  sandbox.hire({ jobId, trainers: [{ opentrainUserId: `of-${name}` }] });
  return sandbox.hire({ jobId, trainers: [{ opentrainUserId: `old-of-${name}` }] }).contractId;
}

describeAnyDialect('the addresses of two tools, swapped in the configuration', (dialect) => {
  const right = { studio: 'https://one.example.com', atelier: 'https://two.example.com/' };

  it.each([
    ['that tell who they are', true],
    ['that have nothing but their address', false],
  ])('have no member added, removed or judged in either: tools %s', async (_, tells) => {
    const one = createMemoryTool('membership', { lists: true });
    const two = createMemoryTool('membership', { lists: true });
    const toAdapter = (tool: MemoryTool, identity: string): Adapter =>
      tells ? { ...tool.adapter, identify: async () => identity } : tool.adapter;
    const [first, second] = [toAdapter(one, 'org 1'), toAdapter(two, 'org 2')];
    const site = await openSite(dialect, ['acme', 'globex']);
    const installs = { acme: { tool: 'studio' }, globex: { tool: 'atelier' } };
    const start = (tools: Record<string, Adapter>, urls: Record<string, string>) =>
      site.start({ installs, tools, urls, isRestored: true });

    const bridge = await start({ studio: first, atelier: second }, right);
    await hireInSigns(site, 'globex');
    const oldOfAcme = await hireInSigns(site, 'acme');
    await bridge.quiet();
    expect(one.members('signs').sort()).toEqual(['of-acme', 'old-of-acme']);
    await bridge.stop();
    const before = [one, two].map((tool) => tool.calls.length);

    const swapped = { studio: right.atelier, atelier: right.studio };
    for (let count = 0; count < 2; count += 1) {
      site.clock.advance(30 * minuteMs);
      const wrong = await start({ studio: second, atelier: first }, swapped);
      if (count === 0) site.sandbox.endContract(oldOfAcme);
      await wrong.quiet();
      await wrong.stop();
    }
    expect([one, two].map((tool) => tool.calls.length)).toEqual(before);
    const alerts = site.log.lines().filter((line) => line['alert'] === 'other_server');
    expect(new Set(alerts.map(({ tool }) => tool))).toEqual(new Set(['studio', 'atelier']));

    // Moved together, they are the same where they tell it; else they stand where they stood.
    const elsewhere = { studio: 'https://new.example.com', atelier: 'https://newer.example.com' };
    const urls = tells ? elsewhere : { ...right, studio: 'http://ONE.example.com:80/' };
    site.clock.advance(60 * minuteMs);
    const mended = await start({ studio: first, atelier: second }, urls);
    await mended.quiet();
    expect(one.members('signs')).toEqual(['of-acme']);
    expect(two.members('signs').sort()).toEqual(['of-globex', 'old-of-globex']);
  });
});
