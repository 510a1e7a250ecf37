import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { acmeSecret, startBridge, writeBridgeConfig } from '../../support/bridge-process.ts';
import { type BridgeState, openBridgeState } from '../../support/bridge-state.ts';
import { type Dialect, sqlite } from '../../support/databases.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createFolder } from '../../support/folder.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { listRoster } from '../../support/roster.ts';
import { createSender } from '../../support/sender.ts';
import { openSite, type SiteSetup } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const hourMs = 3_600_000;

type Configuration = NonNullable<SiteSetup['installs']>;

const acme = { projects: ['acme-*'] };
const globex = { projects: ['globex-*'] };
const usual: Configuration = { acme, globex };

const changes: [what: string, changed: Configuration, lost: string, orphaned: string[]][] = [
  [
    'an install is renamed',
    { acme2: acme, globex },
    '2 memberships (2 of install acme, tool studio)',
    ['of-acme orphaned', 'of-acme orphaned', 'of-globex active'],
  ],
  [
    'an install is dropped',
    { globex },
    '2 memberships (2 of install acme, tool studio)',
    ['of-acme orphaned', 'of-acme orphaned', 'of-globex active'],
  ],
  [
    'a project pattern is narrowed',
    { acme: { projects: ['acme-signs'] }, globex },
    '1 membership (1 of install acme, tool studio)',
    ['of-acme active', 'of-acme orphaned', 'of-globex active'],
  ],
];

describeAnyDialect('a configuration that no longer leads to people', (dialect) => {
  describe.each(changes)('when %s', (_what, changed, lost, orphaned) => {
    it('refuses to start, or keeps them as they are, until the old one is back', async () => {
      const { tool, site, active } = await openStaffedSite(dialect);
      const start = (installs: Configuration, acceptsOrphans = false) =>
        site.start({ installs, tools: { studio: tool.adapter }, acceptsOrphans });

      await expect(start(changed)).rejects.toThrow(`no longer covers ${lost}`);
      await expect(start(changed)).rejects.toThrow('--accept-orphans');
      expect(tool.calls).toEqual([]);

      // However often it is started, and whatever becomes due meanwhile.
      for (let count = 0; count < 2; count += 1) {
        const accepting = await start(changed, true);
        await accepting.pass(hourMs / 2);
        await accepting.quiet();
        expect(await accepting.memberships()).toEqual(orphaned);
        await accepting.stop();
      }
      expect(tool.calls).toEqual([]);

      const last = await start(usual);
      await last.quiet();
      expect(await last.memberships()).toEqual(active);
      expectUntouched(tool);
    });
  });

  it('keeps the members of a renamed tool, and finds them again under its new name', async () => {
    const { tool, site, active } = await openStaffedSite(dialect);
    const renamed = {
      installs: { acme: { ...acme, tool: 'atelier' }, globex: { ...globex, tool: 'atelier' } },
      tools: { atelier: tool.adapter },
    };
    const all = '3 memberships (2 of install acme, tool studio; 1 of install globex, tool studio)';
    await expect(site.start(renamed)).rejects.toThrow(`no longer covers ${all}`);
    expect(tool.calls).toEqual([]);

    const accepting = await site.start({ ...renamed, acceptsOrphans: true });
    await accepting.quiet();
    const orphaned = active.map((text) => text.replace('active', 'orphaned'));
    expect(await accepting.memberships()).toEqual([...active, ...orphaned].sort());
    expectUntouched(tool);
    await accepting.stop();

    // By now it knows them by the other name too.
    const old = { installs: usual, tools: { studio: tool.adapter } };
    await expect(site.start(old)).rejects.toThrow('tool atelier');
    const last = await site.start({ ...old, acceptsOrphans: true });
    await last.quiet();
    expect(await last.memberships()).toEqual([...active, ...orphaned].sort());
    expectUntouched(tool);
  });
});

describeAnyDialect('a tool that has a new name at the same address', (dialect) => {
  it('left its people in when their contract ended, as if it were an unknown tool', async () => {
    const { tool, site, active, contracts } = await openStaffedSite(dialect, { studio: 'https://tool.example/' });
    const installs = { acme: { ...acme, tool: 'atelier' }, globex: { ...globex, tool: 'atelier' } };
    const renamed = { installs, tools: { atelier: tool.adapter }, urls: { atelier: 'https://tool.example' } };
    const bridge = await site.start({ ...renamed, removals: { maxFraction: 1 } });
    await bridge.quiet();
    expect(await bridge.memberships()).toEqual(active);
    expectUntouched(tool);
    site.sandbox.endContract(contracts[0] ?? '');
    await bridge.quiet();
    expect(await bridge.memberships()).toEqual(['of-acme removed', 'of-acme removed', 'of-globex active']);
    expect([tool.members('acme-signs'), tool.members('globex-signs')]).toEqual([[], ['of-globex']]);
  });
});

describeAnyDialect('an install that was renamed, with its people kept', (dialect) => {
  const renamed: Configuration = { acme2: acme, globex };

  it.each([
    ['leads to its people again, and takes them out when their contract ends', false],
    ['takes out whose contract has ended before it was first read', true],
  ])('%s', async (_, endsBefore) => {
    const { tool, site, active, contracts } = await openStaffedSite(dialect);
    const read = async (installs: Configuration) => {
      // The brake counts no one who was added in the last hour, whichever of the readings it is asked after.
      site.clock.advance(2 * hourMs);
      const removals = { maxFraction: 1 };
      const options = { acceptsOrphans: true, isRestored: true, removals };
      const bridge = await site.start({ installs, tools: { studio: tool.adapter }, ...options });
      await bridge.quiet();
      const memberships = await bridge.memberships();
      await bridge.stop();
      return memberships;
    };

    if (endsBefore) site.sandbox.endContract(contracts[0] ?? '');
    // By the first reading it may not have been noticed yet that they are orphaned.
    const first = await read(renamed);
    if (!endsBefore) {
      expect(first).toEqual(active);
      expectUntouched(tool);
      site.sandbox.endContract(contracts[0] ?? '');
    }
    expect(await read(renamed)).toEqual(['of-acme removed', 'of-acme removed', 'of-globex active']);
    expect(tool.members('acme-signs')).toEqual([]);
    expect(tool.members('globex-signs')).toEqual(['of-globex']);
  });
});

describeAnyDialect('a configuration that leads to more than before', (dialect) => {
  const tool = () => createMemoryTool().adapter;
  const more: [what: string, before: Configuration, known: string[]][] = [
    ['a project is added', { acme: { projects: ['acme-signs'] } }, ['of-acme active']],
    ['no project was named', { acme: { projects: ['nothing'] } }, []],
  ];

  it.each(more)('gives access at the next start to who was hired before, where %s', async (_what, before, known) => {
    const tools = { studio: tool() };
    const site = await openSite(dialect, ['acme']);
    const first = await site.start({ installs: before, tools });
    for (const project of ['acme-signs', 'acme-lamps']) await site.customer('acme').link(project);
    site.sandbox.hire({ jobId: site.customer('acme').jobId, trainers: [{ opentrainUserId: 'of-acme' }] });
    await first.quiet();
    expect(await first.memberships()).toEqual(known);
    await first.stop();

    const next = await site.start({ installs: { acme }, tools });
    await next.quiet();
    expect(await next.memberships()).toEqual(['of-acme active', 'of-acme active']);
    await next.stop();
  });
});

describeAnyDialect('a configuration that leads elsewhere', (dialect) => {
  it('adds no trainer who still waited under the old configuration, until it is back', async () => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme']);
    tool.before = () => {
      throw new AppError('unavailable', 'The tool answered 503');
    };
    const first = await site.start({ installs: { acme }, tools: { studio: tool.adapter } });
    for (const project of ['acme-signs', 'acme-lamps']) await site.customer('acme').link(project);
    site.sandbox.hire({ jobId: site.customer('acme').jobId, trainers: [{ opentrainUserId: 'of-acme' }] });
    await first.quiet();
    expect(await first.memberships()).toEqual(['of-acme pending', 'of-acme pending']);
    await first.stop();
    tool.before = () => undefined;

    const next = await site.start({
      installs: { acme: { projects: ['acme-signs'] } },
      tools: { studio: tool.adapter },
    });
    await next.pass(2 * hourMs);
    await next.quiet();
    expect([tool.members('acme-signs'), tool.members('acme-lamps')]).toEqual([['of-acme'], []]);
    await next.stop();

    const last = await site.start({ installs: { acme }, tools: { studio: tool.adapter } });
    await last.quiet();
    expect(tool.members('acme-lamps')).toEqual(['of-acme']);
    await last.stop();
  });
});

/** One person of acme in two projects, one of globex in another. */
async function openStaffedSite(dialect: Dialect, urls: Record<string, string> = {}) {
  const tool = createMemoryTool();
  const site = await openSite(dialect, ['acme', 'globex']);
  const bridge = await site.start({ installs: usual, tools: { studio: tool.adapter }, urls });
  for (const project of ['acme-signs', 'acme-lamps']) await site.customer('acme').link(project);
  await site.customer('globex').link('globex-signs');
  const contracts = ['acme', 'globex'].map((name) => {
    const { jobId } = site.customer(name);
    const trainers = [{ opentrainUserId: `of-${name}` }];
    return site.sandbox.hire({ jobId, trainers }).contractId;
  });
  await bridge.quiet();
  const active = ['of-acme active', 'of-acme active', 'of-globex active'];
  expect(await bridge.memberships()).toEqual(active);
  await bridge.stop();
  tool.calls.length = 0;
  return { tool, site, active, contracts };
}

/** They may be looked for. */
function expectUntouched(tool: MemoryTool): void {
  expect(tool.calls.filter((call) => !call.startsWith('find'))).toEqual([]);
  expect(tool.members('acme-signs')).toEqual(['of-acme']);
  expect(tool.members('acme-lamps')).toEqual(['of-acme']);
  expect(tool.members('globex-signs')).toEqual(['of-globex']);
}

describe('gangway start', () => {
  it('ends with status 1 and says what to do, and starts once that is done', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const state = openBridgeState(setup.databaseUrl);
    const usualText = readFileSync(setup.configFile, 'utf8');
    const first = await startBridge(setup);
    const started = fullEvent({ type: 'contract.started', createdAt: new Date().toISOString() });
    expect(await createSender(acmeSecret, 1).send(first.url, started, '1')).toMatchObject({
      status: 200,
    });
    await state.settled();
    expect(await first.stop()).toBe(0);
    const roster = readFileSync(setup.rosterFile, 'utf8');
    expect(listRoster(setup.rosterFile)).toEqual(['street-signs/cmu1']);

    writeFileSync(setup.configFile, usualText.replace('"acme":', '"acne":'));
    const refused = startBridge(setup);
    await expect(refused).rejects.toThrow('gangway start ended with 1');
    await expect(refused).rejects.toThrow(/1 membership? \(1 of install acme, tool list\)/);
    await expect(refused).rejects.toThrow('--accept-orphans');
    const accepting = await startBridge({ ...setup, args: ['--accept-orphans'] });
    await untilState(state, 'orphaned');
    expect(await accepting.stop()).toBe(0);
    expect(readFileSync(setup.rosterFile, 'utf8')).toBe(roster);

    writeFileSync(setup.configFile, usualText);
    const last = await startBridge(setup);
    await untilState(state, 'active');
    expect(await last.stop()).toBe(0);
    expect(readFileSync(setup.rosterFile, 'utf8')).toBe(roster);
  });
});

async function untilState({ database }: BridgeState, state: string): Promise<void> {
  const look = () => database.kysely.selectFrom('membership').select('state').execute();
  await until(`it is ${state}`, look, (seen) => seen.every((one) => one.state === state));
}
