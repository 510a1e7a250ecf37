import { beforeEach, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { clearPersonalData } from '../../../src/evidence/evidence-store.ts';
import { createIncident, hours, type Incident, minutes, toApi } from '../../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const signs = 'street-signs';
const [one, another] = ['amara@opentrain.work', 'amara@globex.example'];

/** Several customers hire one trainer for one project. Not all of them share the trainer's address. */
describeAnyDatabase('a trainer hired by one customer without consent', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    tool = createMemoryTool('membership', { keyedBy: 'address', lists: true });
    incident = createIncident(await openFresh(), { tool });
  });

  const contractOf = (install: string) => ({ contract: `of-${install}`, link: `link-${install}` });
  const hire = (install: string, workEmail: string | null) =>
    incident.event('contract.started', { ...contractOf(install), workEmail }, install);
  const end = (install: string) =>
    incident.event('contract.ended', { ...contractOf(install), workEmail: null }, install);
  const members = () => tool.members(signs);
  const states = async () => (await incident.engine.membershipRows()).map(({ state }) => state).sort();

  /** The contract of an employer's own account has no conversation yet, in which the address is. */
  async function hireInSilence(install: string): Promise<void> {
    const { contract, link } = contractOf(install);
    const people = ['cmu1'];
    const api = toApi({ links: { [link]: signs }, active: { [contract]: { links: [link], people } } });
    await incident.readFrom(
      {
        ...api,
        listParticipants: async () =>
          people.map((opentrainUserId) => ({
            opentrainUserId,
            displayName: null,
            workEmail: null,
            addressMissing: 'no_conversation',
          })),
      },
      install,
    );
  }

  const hires = {
    acme: () => hire('acme', one),
    globex: () => hire('globex', null),
    silent: () => hireInSilence('silent'),
  };
  type Hirer = keyof typeof hires;

  const orders: Hirer[][] = [
    ['globex', 'acme'],
    ['acme', 'globex'],
    ['silent', 'acme'],
    ['acme', 'silent'],
    ['globex', 'acme', 'silent'],
    ['globex', 'silent', 'acme'],
    ['acme', 'silent', 'globex'],
  ];

  describe.each(orders.map((order) => [order.join(', then '), order] as const))('hired by %s', (_, order) => {
    it('was out after the first contract with an address had ended', async () => {
      for (const install of order) await hires[install]();
      expect(members()).toEqual([one]);
      await end('acme');
      await incident.pass(minutes);
      expect(members()).toEqual([one]);
      for (const install of order.filter((name) => name !== 'acme')) {
        expect(members()).toEqual([one]);
        await end(install);
      }
      expect(members()).toEqual([]);
    });
  });

  it.each([
    ['first', ['globex', 'acme', 'initech']],
    ['last', ['initech', 'acme', 'globex']],
  ])('was out of one of two accesses, hired without consent %s', async (_, order) => {
    const addresses: Record<string, string | null> = { acme: one, initech: another, globex: null };
    for (const install of order) await hire(install, addresses[install] ?? null);
    await end('acme');
    expect(members()).toEqual([another, one].toSorted());
    await end('globex');
    expect(members()).toEqual([another]);
    await end('initech');
    expect(members()).toEqual([]);
  });

  it('was removed although the hire was received before the removal was due', async () => {
    await hire('acme', one);
    await incident.event('project_link.removed', contractOf('acme'), 'acme');
    await hire('globex', null);
    await incident.pass(20 * minutes);
    expect(members()).toEqual([one]);
  });

  it('got in again under an address of a customer whose contract had ended', async () => {
    await hire('acme', one);
    await hire('globex', null);
    await end('acme');
    await end('globex');
    expect(members()).toEqual([]);
    const later = { contract: 'later', link: 'link-globex', workEmail: null };
    await incident.event('contract.started', later, 'globex');
    expect(members()).toEqual([]);
    expect(await states()).toEqual(['removed', 'waiting_email']);
  });

  it.each(['before', 'after'])('had two memberships where one was to be shared, hired %s the other', async (when) => {
    if (when === 'before') await hire('globex', null);
    await hire('acme', one);
    if (when === 'after') await hire('globex', null);
    expect((await states()).filter((state) => state !== 'removed')).toEqual(['active']);
  });

  it.each([
    ['first', ['globex', 'acme']],
    ['last', ['acme', 'globex']],
  ])('kept the access of another customer after an address of their own came, hired %s', async (_, order) => {
    for (const install of order) await hire(install, install === 'acme' ? one : null);
    await end('acme');
    await hire('globex', another);
    await incident.pass(minutes);
    expect(members()).toEqual([another]);
    await end('globex');
    expect(members()).toEqual([]);
  });

  it.each([
    ['before it was known', null],
    ['at once', one],
  ])('was taken out of a shared access when the address changed, and hired %s', async (_, workEmail) => {
    await hire('acme', one);
    await hire('globex', workEmail);
    await hire('globex', one);
    await hire('globex', another);
    await end('acme');
    await incident.pass(minutes);
    expect(incident.removals()).toEqual([]);
    await end('globex');
    expect(members()).toEqual([]);
  });

  it.each([
    ['first', ['globex', 'acme']],
    ['last', ['acme', 'globex']],
  ])('was out once the consent was withdrawn, hired %s', async (_, order) => {
    for (const install of order) await hire(install, one);
    await inTransaction(incident.engine.database, (tx) =>
      clearPersonalData(tx, [{ install: 'globex', trainerId: 'cmu1' }]),
    );
    await end('acme');
    await incident.pass(minutes);
    expect(members()).toEqual([one]);
    await end('globex');
    expect(members()).toEqual([]);
  });

  it('stayed in for a project that the marketplace provisions, by a customer who knew no address', async () => {
    await hire('acme', one);
    const managed = { ...contractOf('globex'), provisioningMode: 'MANAGED_ADAPTER', workEmail: null };
    await incident.event('contract.started', managed, 'globex');
    await end('acme');
    expect(members()).toEqual([]);
  });
});

describeAnyDatabase('a trainer known from a reading alone, and without an address', (openFresh) => {
  const trainer = 'cmu1@opentrain.work';
  const silent = 'cmu2';
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    tool = createMemoryTool('membership', { keyedBy: 'address', lists: true });
    incident = createIncident(await openFresh(), { tool });
  });

  /** @param shared the trainers whose addresses the customer shares; without any there is no consent */
  async function read(people: string[], shared: string[]): Promise<void> {
    const api = toApi({ links: { l1: signs }, active: { c1: { links: ['l1'], people } } });
    await incident.readFrom({
      ...api,
      readGrant: async (signal) => ({ ...(await api.readGrant(signal)), piiConsent: shared.length > 0 }),
      listParticipants: async (id, signal) =>
        (await api.listParticipants(id, signal)).map((one) =>
          shared.includes(one.opentrainUserId) ? one : { ...one, workEmail: null },
        ),
    });
  }

  it('was let in with the reading an hour later, if the customer had given their consent by then', async () => {
    await read(['cmu1'], []);
    expect(await incident.states()).toEqual({ 'street-signs/cmu1': 'waiting_email' });
    await incident.pass(hours + minutes);
    await read(['cmu1'], ['cmu1']);
    expect(tool.members(signs)).toEqual([trainer]);
  });

  it('was let in with the reading an hour later, if the address of one of two came late', async () => {
    await read(['cmu1', silent], [silent]);
    expect(tool.members(signs)).toEqual(['cmu2@opentrain.work']);
    await incident.pass(hours + minutes);
    await read(['cmu1', silent], ['cmu1', silent]);
    expect(tool.members(signs).toSorted()).toEqual([trainer, 'cmu2@opentrain.work']);
  });
});
