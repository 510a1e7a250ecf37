import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { requestReads } from '../../../src/evidence/read-request-store.ts';
import { claimJob } from '../../../src/jobs/job-store.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { holdRemovalsOf } from '../../../src/reconcile/read/install-state-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { minimalEvent } from '../../support/event-bodies.ts';
import { awaitWork, createIncident, type Incident, minutes } from '../../support/incident.ts';

const signs = 'street-signs';
const seconds = 1000;
const links = { cml1: signs };
const renewed = { links, active: { cmc2: { links: ['cml1'], people: ['cmu1'] } } };
const nothing = { links, active: {} };
const other = { contract: 'cmc9', trainer: 'cmu9' };
const ended = { cmc1: { links: ['cml1'], people: ['cmu1'] } };
const others = { cmc9: { links: ['cml1'], people: ['cmu9'] } };
const renewedBesideOther = { links, active: { ...renewed.active, ...others } };

describeEachDatabase('a renewal whose start was lost', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.event('contract.started');
    incident.engine.clock.advance(minutes);
  });

  const members = () => incident.tool.members(signs);

  /** A list that did not answer is repeated, and every other wait ends. */
  const askAgain = async () => {
    await incident.pass(6 * seconds);
    await incident.pass(60 * minutes);
  };

  /** By an event without a trainer, so that the contract is to be read. */
  async function hearOfRenewal(): Promise<void> {
    const { engine } = incident;
    await engine.apply([minimalEvent('contract.started', 'cmc2')], 'acme');
    const target = { install: 'acme', contractId: 'cmc2' };
    const now = toInstant(engine.clock.now());
    await inTransaction(engine.database, (tx) => requestReads(tx, [target], now));
  }

  it('keeps a trainer in whose contract before it ends', async () => {
    incident.answers(renewed);
    await incident.event('contract.ended');
    expect(incident.removals()).toEqual([]);
    expect(members()).toEqual(['cmu1']);
    expect(incident.lists()).toBe(1);
    await incident.pass(60 * minutes);
    expect(members()).toEqual(['cmu1']);
  });

  it('is not waited for if the marketplace lists none', async () => {
    incident.answers(nothing);
    await incident.event('contract.ended');
    expect(members()).toEqual([]);
    expect(incident.lists()).toBe(1);
  });

  it('is waited for half a minute and no longer if the marketplace does not answer', async () => {
    incident.answers();
    await incident.event('contract.ended');
    await incident.pass(29 * seconds);
    expect(members()).toEqual(['cmu1']);
    await incident.pass(seconds);
    expect(members()).toEqual([]);
    const tries = incident.lists();
    await incident.pass(60 * minutes);
    expect(incident.lists()).toBe(tries);
  });

  it('is found if the marketplace answers again in time', async () => {
    incident.answers();
    await incident.event('contract.ended');
    incident.answers(renewed);
    await askAgain();
    expect(members()).toEqual(['cmu1']);
    expect(incident.lists()).toBe(2);
  });

  it('is found if the first list is empty though another contract is known', async () => {
    await incident.event('contract.started', other);
    incident.answers(nothing);
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1', 'cmu9']);
    incident.answers(renewedBesideOther);
    await askAgain();
    expect(members()).toEqual(['cmu1', 'cmu9']);
  });

  it('is found if a full reading shows the end, and lists none though another contract is known', async () => {
    await incident.event('contract.started', other);
    incident.answers(renewedBesideOther);
    await incident.read({ links, active: {}, ended });
    expect(incident.lists()).toBe(1);
    expect(members()).toEqual(['cmu1', 'cmu9']);
  });

  it('is found if its event names no trainer and the first list omits it', async () => {
    await hearOfRenewal();
    incident.answers({ links, active: others });
    await incident.event('contract.ended');
    expect(members()).toContain('cmu1');
    incident.answers(renewedBesideOther);
    await askAgain();
    expect(members()).toEqual(['cmu1', 'cmu9']);
  });

  it('is found if its event names no trainer and a full reading omits it', async () => {
    await hearOfRenewal();
    incident.answers(renewedBesideOther);
    await incident.read({ links, active: others, ended });
    expect(incident.lists()).toBe(1);
    expect(members()).toEqual(['cmu1', 'cmu9']);
  });

  it('is found if its participants are not answered at first', async () => {
    incident.answers({ links, active: { cmc2: { links: ['cml1'], people: [] } } });
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1']);
    incident.answers(renewed);
    await askAgain();
    expect(members()).toEqual(['cmu1']);
  });

  it('is found if a full reading does not name its participants', async () => {
    incident.answers(renewed);
    const unsaid = { cmc2: { links: ['cml1'], people: [] } };
    await incident.read({ links, active: unsaid, ended });
    expect(incident.lists()).toBe(1);
    expect(members()).toEqual(['cmu1']);
  });

  it('is not waited for if the contract of its event has ended', async () => {
    await hearOfRenewal();
    await incident.engine.apply([minimalEvent('contract.ended', 'cmc2')], 'acme');
    incident.answers(nothing);
    await incident.event('contract.ended');
    expect(members()).toEqual([]);
  });

  it('is found if the event of another person on the same contract arrived', async () => {
    await incident.event('contract.started', { trainer: 'cmu2' });
    incident.answers({ links, active: { cmc2: { links: ['cml1'], people: ['cmu1', 'cmu2'] } } });
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1', 'cmu2']);
  });

  it('is found if the event of another person arrived and its participants are not answered at first', async () => {
    await incident.event('contract.started', { trainer: 'cmu2' });
    incident.answers({ links, active: { cmc2: { links: ['cml1'], people: [] } } });
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1', 'cmu2']);
    incident.answers({ links, active: { cmc2: { links: ['cml1'], people: ['cmu1', 'cmu2'] } } });
    await askAgain();
    expect(members()).toEqual(['cmu1', 'cmu2']);
  });

  it('is found on an unknown link', async () => {
    incident.answers({
      links: { ...links, cml2: signs },
      active: { cmc2: { links: ['cml2'], people: ['cmu1'] } },
    });
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1']);
  });

  it('is found if it begins while the removal waits for a reading of the work', async () => {
    awaitWork(incident, signs);
    incident.answers(nothing);
    await incident.event('contract.ended');
    incident.answers(renewed);
    await incident.pass(5 * minutes);
    expect(incident.lists()).toBe(1);
    await incident.pass(60 * minutes);
    expect(members()).toEqual(['cmu1']);
    expect(incident.removals()).toEqual([]);
  });

  it("is found if it begins after a list for another person's removal", async () => {
    const atLamps = { contract: 'cmc9', trainer: 'cmu9', link: 'cml2', project: 'lamps' };
    const both = { cml1: signs, cml2: 'lamps' };
    await incident.event('contract.started', atLamps);
    awaitWork(incident, signs);
    incident.answers({ links: both, active: {} });
    await incident.event('contract.ended');
    incident.engine.clock.advance(minutes);
    await incident.event('contract.ended', atLamps);
    expect(incident.tool.members('lamps')).toEqual([]);
    expect(incident.lists()).toBe(1);
    incident.answers({ links: both, active: renewed.active });
    await incident.pass(4 * minutes);
    await incident.pass(60 * minutes);
    expect(members()).toEqual(['cmu1']);
  });

  it('is looked for again if the end arrived during the list', async () => {
    const { engine } = incident;
    incident.answers({ links, active: others });
    await incident.take('contract.started', other);
    await incident.event('contract.ended');
    expect(incident.lists()).toBe(1);
    engine.clock.advance(seconds);
    incident.answers({ links, active: { cmc8: { links: ['cml1'], people: ['cmu9'] } } });
    await incident.event('contract.ended', other);
    expect(incident.lists()).toBe(2);
    expect(members()).toEqual(['cmu9']);
  });

  it('needs one list for all ends that arrive together', async () => {
    const people = Array.from({ length: 12 }, (_, index) => ({ contract: `c${index}`, trainer: `t${index}` }));
    await incident.takeAll('contract.started', people);
    await incident.settle();
    incident.engine.clock.advance(minutes);
    incident.answers(renewed);
    await incident.takeAll('contract.ended', people);
    await incident.settle();
    expect(members()).toEqual(['cmu1']);
    expect(incident.lists()).toBe(1);
  });

  it('needs no list if a full reading shows the end', async () => {
    incident.answers(nothing);
    await incident.read({ links, active: {}, ended });
    expect(members()).toEqual([]);
    expect(incident.lists()).toBe(0);
  });

  it('needs no list if another reason stands', async () => {
    incident.answers(nothing);
    await incident.event('contract.started', { contract: 'cmc2' });
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1']);
    expect(incident.lists()).toBe(0);
  });

  it('is looked for at every customer whose contract has ended, not only at the last', async () => {
    const other = { contract: 'g1', link: 'gl1' };
    await incident.event('contract.started', other, 'globex');
    incident.engine.clock.advance(minutes);
    incident.answers(nothing, 'acme');
    const active = { g2: { links: ['gl1'], people: ['cmu1'] } };
    incident.answers({ grant: 'g', links: { gl1: signs }, active }, 'globex');
    await incident.event('contract.ended', other, 'globex');
    incident.engine.clock.advance(seconds);
    await incident.event('contract.ended');
    expect(members()).toEqual(['cmu1']);
  });

  it('is listed by one of two instances, and by the other if the first dies', async () => {
    const { engine } = incident;
    incident.answers(renewed);
    await incident.take('contract.ended');
    await engine.brake();
    const now = () => toInstant(engine.clock.now());
    const lease = () => ({ now: now(), leasedUntil: instantIn(engine.clock, 10_000) });
    const claim = () => claimJob(engine, 'active list', 'acme', lease());
    const claims = await Promise.all([claim(), claim()]);
    expect(claims.filter((one) => one !== null)).toHaveLength(1);
    await incident.pass(9 * seconds);
    expect(incident.lists()).toBe(0);
    await incident.pass(seconds);
    expect(incident.lists()).toBe(1);
    await incident.pass(60 * minutes);
    expect(members()).toEqual(['cmu1']);
  });

  it('is waited for half a minute again after a time without an instance', async () => {
    incident.answers();
    await incident.take('contract.ended');
    await incident.engine.brake();
    incident.engine.clock.advance(20 * minutes);
    await holdRemovalsOf(incident.engine, ['acme'], toInstant(incident.engine.clock.now()));
    incident.answers(renewed);
    await incident.settle();
    await incident.pass(60 * minutes);
    expect(members()).toEqual(['cmu1']);
  });

  it('costs one list at a time, however many contracts a customer ends one by one', async () => {
    const people = Array.from({ length: 30 }, (_, index) => ({ contract: `c${index}`, trainer: `t${index}` }));
    await incident.takeAll('contract.started', people);
    await incident.settle();
    incident.engine.clock.advance(minutes);
    incident.answers();
    for (const one of people) {
      await incident.event('contract.ended', one);
      incident.engine.clock.advance(seconds);
    }
    // A marketplace that does not answer is asked again after five seconds or more.
    expect(incident.lists()).toBeGreaterThan(1);
    expect(incident.lists()).toBeLessThanOrEqual(6);
  });
});
