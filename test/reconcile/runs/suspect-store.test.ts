import { expect, it } from 'vitest';
import { listContracts } from '../../../src/operations/contracts.ts';
import { listSuspects, suspectsAmong } from '../../../src/reconcile/runs/suspect-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, minutes } from '../../support/incident.ts';
import { troublesIn } from '../../support/troubles.ts';

const links = { cml1: 'signs' };

describeEachDatabase('a suspect', (openFresh) => {
  const one = (people: string[]) => ({ links: ['cml1'], people });
  const both = { links, active: { cmc1: one(['u1']), cmc9: one(['u9']) } };
  /** Then its participants do not answer either. */
  const without = { links, active: { cmc9: one(['u9']) } };

  async function open() {
    const incident = createIncident(await openFresh());
    const suspects = async () => {
      const listed = await listContracts(incident.engine, { suspects: true, limit: 100 });
      return listed.map(({ contractId, suspectSince }) => `${contractId} ${suspectSince}`);
    };
    return { incident, suspects };
  }

  it('is a contract that is no longer listed, and whose participants are not answered', async () => {
    const { incident, suspects } = await open();
    const { clock } = incident.engine;
    await incident.read(both);
    expect(await suspects()).toEqual([]);
    clock.advance(15 * minutes);
    const since = clock.now().toISOString();
    await incident.read(without);
    clock.advance(15 * minutes);
    await incident.read(without);
    expect(await suspects()).toEqual([`cmc1 ${since}`]);
    expect(incident.removals()).toEqual([]);
    await incident.read({ ...without, isRefused: true });
    expect(await suspects()).toEqual([`cmc1 ${since}`]);
    clock.advance(minutes);
    await incident.read(both);
    expect(await suspects()).toEqual([]);
  });

  it('is not a contract whose link is gone, or that an event has named since', async () => {
    const { incident, suspects } = await open();
    const { clock } = incident.engine;
    await incident.read(both);
    clock.advance(15 * minutes);
    await incident.read(without);
    expect(await suspects()).toHaveLength(1);
    clock.advance(minutes);
    await incident.take('contract.started', { contract: 'cmc1', link: 'cml1', trainer: 'u1' });
    expect(await suspects()).toEqual([]);
    clock.advance(minutes);
    await incident.read(without);
    expect(await suspects()).toHaveLength(1);
    await incident.take('project_link.removed', { link: 'cml1' });
    expect(await suspects()).toEqual([]);
  });

  it('is not a contract whose project the marketplace provisions itself', async () => {
    const { incident, suspects } = await open();
    const provisioningMode = 'MANAGED_ADAPTER';
    await incident.read({ ...both, provisioningMode });
    incident.engine.clock.advance(minutes);
    await incident.read({ ...without, provisioningMode });
    expect(await suspects()).toEqual([]);
  });

  it('is listed with the others of its install, and dated by its own reading', async () => {
    const { incident, suspects } = await open();
    const { clock } = incident.engine;
    await incident.read({ links, active: { ...both.active, cmc2: one(['u2']) } });
    clock.advance(minutes);
    const first = clock.now().toISOString();
    await incident.read({ links, active: { cmc2: one(['u2']), cmc9: one(['u9']) } });
    clock.advance(60 * minutes);
    const second = clock.now().toISOString();
    await incident.read(without);
    expect(await suspects()).toEqual([`cmc1 ${first}`, `cmc2 ${second}`]);
    const alerts: number[] = [];
    for (const hours of [22, 1, 1, 1]) {
      clock.advance(hours * 60 * minutes);
      await incident.read(without);
      alerts.push(await incident.alerts('contract_suspect'));
    }
    // Both by one alert of their install.
    expect(alerts).toEqual([0, 1, 1, 1]);
  });

  it('is found once among more rows than one statement reads, with one link or two', async () => {
    const { incident } = await open();
    const { engine } = incident;
    const twoLinks = { cml1: 'signs', cml2: 'cars' };
    const ids = Array.from({ length: 28 }, (_, index) => `cmc${index}`);
    const active = Object.fromEntries(ids.map((id) => [id, { links: ['cml1', 'cml2'], people: [] }]));
    await incident.read({ links: twoLinks, active });
    engine.clock.advance(minutes);
    await incident.read({ links: twoLinks, active: {} });
    // Odd, so that a page ends between the two links of a contract.
    const found = (await listSuspects(engine, ['acme'], undefined, 25)).map(({ contractId }) => contractId);
    expect(found.toSorted()).toEqual(ids.toSorted());
    expect((await listSuspects(engine, ['acme'], 1, 25)).length).toBeLessThan(ids.length);
    expect(await listSuspects(engine, [])).toEqual([]);
    expect(await listSuspects(engine, ['globex'])).toEqual([]);
    const among = await suspectsAmong(engine, [
      { install: 'acme', contractId: 'cmc7' },
      { install: 'globex', contractId: 'cmc8' },
    ]);
    expect(among).toMatchObject([{ install: 'acme', contractId: 'cmc7' }]);
  });

  it('needs an operator, and is reported after a day, once', async () => {
    const { incident } = await open();
    const { engine } = incident;
    const { clock } = engine;
    await incident.read(both);
    clock.advance(minutes);
    const since = clock.now().toISOString();
    await incident.read(without);
    expect(await troublesIn(engine)).toMatchObject([
      { kind: 'contract_suspect', count: 1, since, page: '/contracts?suspects=true&install=acme' },
    ]);
    expect(await troublesIn(engine, new Map([['globex', { tool: 'list', projects: ['*'] }]]))).toEqual([]);
    clock.advance(24 * 60 * minutes - 1);
    await incident.read(without);
    expect(await incident.alerts('contract_suspect')).toBe(0);
    clock.advance(1);
    await incident.read(without);
    await incident.read(without);
    expect(await incident.alerts('contract_suspect')).toBe(1);
    expect(incident.engine.log.lines()).toContainEqual(
      expect.objectContaining({
        alert: 'contract_suspect',
        install: 'acme',
        msg: '1 contract of acme is no longer listed, but not reported as ended.',
      }),
    );
  });
});
