import { beforeEach, expect, it } from 'vitest';
import type { RouteLink } from '../../../src/domain/install.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, type Incident, type Listing, minutes } from '../../support/incident.ts';

const links = { cml1: 'signs', cml8: 'lamps' };
const other = { links: ['cml8'], people: ['cmu8'] };
const ofAcme: Listing = { grant: 'cmi1', links, active: { cmc1: { links: ['cml1'], people: ['cmu1'] }, cmc8: other } };
const endedOfAcme: Listing = {
  grant: 'cmi1',
  links,
  active: { cmc8: other },
  ended: { cmc1: { links: ['cml1'], people: ['cmu1'] } },
};
const ofGlobex: Listing = {
  grant: 'cmi2',
  links: { cml2: 'signs' },
  active: { cmc2: { links: ['cml2'], people: ['cmu1'] } },
};

describeEachDatabase('an install that is no longer configured', (openFresh) => {
  let configured: string[];
  let incident: Incident;

  beforeEach(async () => {
    configured = ['acme', 'globex'];
    const routeLink: RouteLink = ({ install, externalProjectId }) =>
      externalProjectId === null || !configured.includes(install)
        ? undefined
        : { tool: 'studio', groupId: externalProjectId };
    incident = createIncident(await openFresh(), { routeLink, limits: { max: 9, maxFraction: 1 } });
  });

  const members = () => incident.tool.members('signs');
  const state = async () => (await incident.states())['signs/cmu1'];

  it('keeps in the trainers that it hired, although their contract with another customer ends', async () => {
    await incident.read(ofAcme);
    await incident.read(ofGlobex, 'globex');
    configured = ['acme'];
    await incident.pass(15 * minutes);
    await incident.read(endedOfAcme);
    expect([await state(), members()]).toEqual(['orphaned', ['cmu1']]);
  });

  it('gives access to the trainers hired meanwhile with the next reading after it is back', async () => {
    configured = ['globex'];
    for (let count = 0; count < 3; count += 1) {
      await incident.read(ofAcme);
      await incident.pass(15 * minutes);
    }
    expect(await incident.states()).toEqual({});
    configured = ['acme', 'globex'];
    await incident.pass(15 * minutes);
    expect(await incident.states()).toEqual({});
    await incident.read(ofAcme);
    expect(await incident.states()).toEqual({ 'signs/cmu1': 'active', 'lamps/cmu8': 'active' });
  });

  it('no longer counts once it has another name', async () => {
    await incident.read(ofAcme);
    configured = ['acme2', 'globex'];
    await incident.pass(15 * minutes);
    await incident.read(ofAcme, 'acme2');
    expect(await state()).toBe('active');
    await incident.pass(15 * minutes);
    await incident.read(endedOfAcme, 'acme2');
    expect([await state(), members()]).toEqual(['removed', []]);
  });

  it('does not count either if the new name knows only another contract', async () => {
    await incident.read(ofAcme);
    configured = ['acme2', 'globex'];
    await incident.pass(15 * minutes);
    const renewed = { cmc3: { links: ['cml1'], people: ['cmu1'] } };
    await incident.read({ ...endedOfAcme, active: { ...renewed, cmc8: other } }, 'acme2');
    expect(await state()).toBe('active');
    await incident.pass(15 * minutes);
    await incident.read({ ...endedOfAcme, ended: { ...endedOfAcme.ended, ...renewed } }, 'acme2');
    expect([await state(), members()]).toEqual(['removed', []]);
  });

  it('keeps trainers of another customer in under its new name too', async () => {
    await incident.read(ofAcme);
    await incident.read(ofGlobex, 'globex');
    configured = ['acme2', 'globex'];
    await incident.pass(15 * minutes);
    await incident.read(endedOfAcme, 'acme2');
    expect([await state(), members()]).toEqual(['active', ['cmu1']]);
  });

  it('removes no trainer under its new name who was there before us', async () => {
    incident.tool.seed('signs', 'cmu1', 'cmu1@opentrain.work');
    await incident.read(ofAcme);
    configured = ['acme2', 'globex'];
    await incident.pass(15 * minutes);
    await incident.read(ofAcme, 'acme2');
    await incident.pass(15 * minutes);
    await incident.read(endedOfAcme, 'acme2');
    expect([await state(), members()]).toEqual(['released', ['cmu1']]);
    expect(incident.removals()).toEqual([]);
  });
});
