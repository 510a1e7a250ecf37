import { expect, it } from 'vitest';
import type { Source } from '../../../src/marketplace/source.ts';
import { previewInstall } from '../../../src/reconcile/runs/preview-install.ts';
import { createIncident, type Incident, type Listing, minutes, toApi } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const tables = [
  ...(['delivery', 'contract', 'link', 'installGrant', 'contractLink', 'participation'] as const),
  ...(['person', 'derivation', 'readRequest', 'membership', 'intent', 'receipt'] as const),
  ...(['reason', 'plan', 'planItem', 'removal', 'installState', 'run', 'audit'] as const),
  ...(['contractEnd', 'forgottenPerson', 'namedLock', 'setting'] as const),
];

const links = { cml1: 'signs' };
const everyone = Array.from({ length: 120 }, (_, index) => `u${index + 100}`);
const on = (people: string[], contract = 'cmc1') => ({ [contract]: { links: ['cml1'], people } });

describeAnyDatabase('a preview', (openFresh) => {
  const open = async () => createIncident(await openFresh());

  async function dump({ engine }: Incident): Promise<string> {
    const rows: string[][] = [];
    for (const table of tables) {
      rows.push((await engine.rows(table)).map((row) => JSON.stringify([table, row])));
    }
    return rows.flat().join('\n');
  }

  /** As `[sign, trainer, cause]`, and changes nothing by it. */
  async function look(incident: Incident, listing: Listing) {
    const { tool, engine } = incident;
    const [before, calls] = [await dump(incident), tool.calls.length];
    const { changes } = await previewInstall(
      { ...engine, sources: new Map([['acme', toApi(listing) as Source]]) },
      'acme',
      new AbortController().signal,
    );
    expect(await dump(incident)).toBe(before);
    expect(tool.calls.length).toBe(calls);
    return changes;
  }

  it('shows which trainers a first reading would add, however many, and changes nothing', async () => {
    const incident = await open();
    const ahead = await look(incident, { links, active: on(everyone) });
    expect(ahead).toHaveLength(everyone.length);
    expect(ahead[0]).toEqual({
      tool: 'studio',
      groupId: 'signs',
      trainerId: 'u100',
      change: 'add',
      cause: null,
      at: null,
    });
  });

  it('is empty if nothing would change', async () => {
    const incident = await open();
    const listing = { links, active: on(['u1', 'u2']) };
    await incident.read(listing);
    expect(await look(incident, listing)).toEqual([]);
  });

  it('shows an end, and whether the brake would hold it', async () => {
    const incident = await open();
    const active = { ...on(['u1'], 'cmc1'), ...on(['u2'], 'cmc2'), ...on(['u9'], 'cmc9') };
    await incident.read({ links, active });
    const one = { links, active: { ...on(['u2'], 'cmc2'), ...on(['u9'], 'cmc9') } };
    expect(await look(incident, { ...one, ended: on(['u1']) })).toMatchObject([
      { trainerId: 'u1', change: 'remove', cause: 'contract_read_ended' },
    ]);
    const two = { ...on(['u1'], 'cmc1'), ...on(['u2'], 'cmc2') };
    expect(await look(incident, { links, active: on(['u9'], 'cmc9'), ended: two })).toMatchObject([
      { trainerId: 'u1', change: 'held' },
      { trainerId: 'u2', change: 'held' },
    ]);
  });

  it('leaves out an end that another contract of the same reading makes up for', async () => {
    const incident = await open();
    await incident.read({ links, active: on(['u1']) });
    // More than what is one step of the evidence lies between the two.
    const others = Object.fromEntries(everyone.map((_, index) => [`o${index}`, { links: [], people: ['u9'] }]));
    const active = { ...on(['u1'], 'cmc2'), ...others };
    expect(await look(incident, { links, active, ended: on(['u1']) })).toEqual([]);
  });

  it('shows a weaker end with its time, before and after it is known', async () => {
    const incident = await open();
    const { engine } = incident;
    await incident.read({ links: { ...links, cml2: 'lamps' }, active: on(['u1']) });
    const gone = { links: { cml2: 'lamps' }, active: {} };
    engine.clock.advance(15 * minutes);
    await incident.read(gone);
    engine.clock.advance(15 * minutes);
    const since = engine.clock.now().getTime();
    const later = [{ trainerId: 'u1', change: 'later', cause: 'link_absent' }];
    const [ahead] = await look(incident, gone);
    expect([ahead]).toMatchObject(later);
    expect(Date.parse(ahead?.at ?? '')).toBeGreaterThan(since);
    await incident.read(gone);
    expect(await look(incident, gone)).toEqual([ahead]);
  });

  it('fails if the reading fails', async () => {
    const incident = await open();
    await expect(look(incident, { links, isRefused: true })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});
