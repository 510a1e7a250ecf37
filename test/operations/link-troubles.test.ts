import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../src/adapters/adapter.ts';
import { emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { tellNow } from '../support/alerting.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { troublesIn } from '../support/troubles.ts';

const globex = { tool: 'studio', projects: ['globex-*'] };

function acme(...projects: string[]) {
  return new Map([
    ['acme', { tool: 'studio', projects }],
    ['globex', globex],
  ]);
}

function throwFor(project: string) {
  return ({ externalProjectId }: AdapterLink) => {
    if (externalProjectId === project) throw new Error('s3cret');
    return externalProjectId;
  };
}

describeAnyDatabase('an operator learns', (openFresh) => {
  async function open() {
    const { adapter } = createMemoryTool();
    const reading: Adapter = {
      ...adapter,
      groupFor: throwFor('no-group'),
      usageScopeFor: throwFor('no-scope'),
      async *readUsage() {},
    };
    const engine = createEngine(await openFresh(), { adapters: new Map([['studio', reading]]) });
    return { engine, link: (changes: object, id = 'l1') => linkIn(engine, id, changes) };
  }

  async function linkIn(engine: Engine, id: string, changes: object) {
    const link = { ...emptyLink('acme', id), externalProjectId: 'signs', ...changes };
    await engine.merge({ ...emptyEvidence(), links: [link] });
  }

  it.each([
    ['nothing of a link within its wall', { externalProjectId: 'signs' }, []],
    ['nothing of one without a project', { externalProjectId: null }, []],
    ['nothing of one of no install', { install: 'initech', externalProjectId: 'a/../b' }, []],
    ['of one whose id may be resolved otherwise', { externalProjectId: 'a/../b' }, ['link_outside']],
    ["of one to another customer's project", { externalProjectId: 'GLOBEX-1' }, ['link_outside']],
    ['of one without a group', { externalProjectId: 'no-group' }, ['link_outside']],
    ['of one without a work scope', { externalProjectId: 'no-scope' }, ['link_uncounted']],
  ])('%s', async (_, changes, kinds) => {
    const { engine, link } = await open();
    await link(changes);
    const troubles = await troublesIn(engine, acme('*'));
    expect(troubles.map(({ kind }) => kind)).toEqual(kinds);
    for (const trouble of troubles) expect(trouble).toMatchObject({ install: 'acme', count: 1, about: { link: 'l1' } });
    expect(JSON.stringify(troubles)).not.toContain('s3cret');
  });

  it.each([
    ['a-/../b', 'acme-*', /the tool may mistake its id for another project's/],
    ['lamps', 'acme-*', /^Project lamps is not one of the projects of acme$/],
    ['GLOBEX-1', '*', /a pattern of another install matches it more closely/],
    ['no-group', '*', /The adapter has no group for project no-group/],
  ])('why the link to %s is outside', async (externalProjectId, pattern, why) => {
    const { engine, link } = await open();
    await link({ externalProjectId });
    expect(await troublesIn(engine, acme(pattern))).toMatchObject([{ detail: expect.stringMatching(why) }]);
  });

  it('about the first five links of a customer by name, and how many others there are', async () => {
    const { engine, link } = await open();
    for (let index = 10; index < 40; index += 1) await link({ externalProjectId: `globex-${index}` }, `l${index}`);
    const troubles = await troublesIn(engine, acme('acme-*'));
    expect(troubles.map(({ count, about }) => about['link'] ?? count)).toEqual(['l10', 'l11', 'l12', 'l13', 'l14', 25]);
  });

  it('what an instance found, from a command that loads no adapters', async () => {
    const { engine, link } = await open();
    await link({ externalProjectId: 'globex-1' });
    const { database, box, clock } = engine;
    expect(await troublesIn({ database, box, clock }, acme('acme-*'))).toEqual([]);
    await tellNow(Object.assign(engine, { installs: acme('acme-*') }));
    expect(await troublesIn({ database, box, clock }, acme('acme-*'))).toMatchObject([
      { kind: 'link_outside', says: '1 link of acme gives nobody access.', about: { link: 'l1' } },
    ]);
  });

  it('nothing more about a removed link', async () => {
    const { engine, link } = await open();
    await link({ externalProjectId: 'cars' });
    expect(await troublesIn(engine, acme('signs'))).toHaveLength(1);
    await link({ externalProjectId: 'cars', removedEventAt: '2026-03-15T12:00:00.000Z' });
    expect(await troublesIn(engine, acme('signs'))).toEqual([]);
  });
});
