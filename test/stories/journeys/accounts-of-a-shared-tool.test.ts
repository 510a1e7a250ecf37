import { expect, it } from 'vitest';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { openSite } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';

describeAnyDialect('a tool with logins', (dialect) => {
  const all = { acme: { projects: ['acme-*'] }, globex: { projects: ['globex-*'] } };
  const { acme } = all;

  it.each([
    ['that two customers share ends none', all, [], 'remove'],
    ['of one customer ends what was made for its people', { acme }, [], 'end'],
    ['that two share whose addresses are all managed ends them too', all, ['x.example'], 'end'],
  ])('%s, and the start says so', async (_which, installs, managedDomains, expected) => {
    const tool = createMemoryTool('membership', { keyedBy: 'address', hasAccounts: true });
    const site = await openSite(dialect, Object.keys(installs));
    const bridge = await site.start({ installs, managedDomains, tools: { studio: tool.adapter } });
    const said = site.log.lines().filter(({ msg }) => String(msg).includes('share studio'));
    expect(said).toHaveLength(expected === 'remove' ? 1 : 0);

    const { jobId, link } = site.customer('acme');
    await link('acme-signs');
    const trainers = [{ opentrainUserId: 'usr1', workEmail: 'amara@x.example' }];
    const { contractId } = site.sandbox.hire({ jobId, trainers });
    await bridge.quiet();
    expect(tool.members('acme-signs')).toEqual(['amara@x.example']);
    site.sandbox.endContract(contractId);
    await bridge.quiet();
    expect(tool.calls.filter((call) => /^(remove|end) /.test(call))).toEqual([
      `${expected} acme-signs/amara@x.example`,
    ]);
    await bridge.stop();
  });

  it('keeps protected accounts untouched', async () => {
    const [boss, trainer] = ['boss@x.example', 'amara@x.example'];
    const tool = createMemoryTool('membership', { keyedBy: 'address', hasAccounts: true });
    tool.seed('acme-signs', boss, boss);
    const site = await openSite(dialect, ['acme']);
    const setup = { installs: { acme }, tools: { studio: tool.adapter }, managedDomains: ['x.example'] };
    const bridge = await site.start({ ...setup, protected: [boss] });
    const { jobId, link } = site.customer('acme');
    await link('acme-signs');
    const hired = [boss, trainer].map((workEmail) =>
      site.sandbox.hire({ jobId, trainers: [{ opentrainUserId: workEmail.slice(0, 4), workEmail }] }),
    );
    await bridge.quiet();
    expect(tool.members('acme-signs')).toEqual([trainer, boss]);
    for (const { contractId } of hired) site.sandbox.endContract(contractId);
    await bridge.quiet();
    expect(tool.calls.filter((call) => call.includes(boss))).toEqual([]);
    expect(tool.members('acme-signs')).toEqual([boss]);
  });
});
