import { expect, it, vi } from 'vitest';
import { type Dialect, describeEachDialect } from '../support/databases.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { openSite } from '../support/site.ts';

// Much of a journey is waiting for loops that look around once a second.
vi.setConfig({ testTimeout: 30_000 });

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

describeEachDialect('the tokens of two customers, swapped in the configuration', (dialect) => {
  it('take nobody out, and say so, until they are put right', async () => {
    const { tool, site, contracts } = await openStaffedSite(dialect);
    const swapped = {
      acme: { projects: ['acme-*'], tokenOf: 'globex' },
      globex: { projects: ['globex-*'], tokenOf: 'acme' },
    };
    for (let count = 0; count < 4; count += 1) {
      site.clock.advance(30 * minuteMs);
      const bridge = await site.start({
        ...{ installs: swapped, tools: { studio: tool.adapter }, isRestored: true },
      });
      await bridge.quiet();
      expect(await bridge.memberships()).toEqual(['of-acme active', 'of-globex active']);
      await bridge.stop();
    }
    expect(tool.calls).toEqual([]);
    const alerts = site.log.lines().filter((line) => line['alert'] === 'other_customer');
    expect(new Set(alerts.map(({ install }) => install))).toEqual(new Set(['acme', 'globex']));

    const mended = await site.start({ tools: { studio: tool.adapter }, isRestored: true });
    const { jobId } = site.customer('acme');
    site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: 'new-to-acme' }] });
    site.sandbox.endContract(contracts[1] ?? '');
    await mended.quiet();
    expect(tool.members('acme-signs').sort()).toEqual(['new-to-acme', 'of-acme']);
    expect(tool.members('globex-signs')).toEqual([]);
  });
});
