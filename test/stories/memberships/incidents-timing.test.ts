import { beforeEach, expect, it } from 'vitest';
import { convergeLeaseMs } from '../../../src/converge/claim-store.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { holdInstalls } from '../../../src/reconcile/read/install-state-store.ts';
import { claimDue, converge, crashingAtReceipt, receiptsOf } from '../../support/converging.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';

const signs = 'street-signs';

describeEachDatabase('a worker that dies between the call and its receipt', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
  });

  /** Works on what is due as a process that dies before anything is settled. */
  async function dieWhileWorking(): Promise<void> {
    const { engine, tool } = incident;
    await engine.brake();
    const database = crashingAtReceipt(engine.database);
    for (const claim of await claimDue(engine, { token: 'dead' })) {
      await converge(engine, tool, claim, { database }).catch(() => undefined);
    }
  }

  it('leaves a member whom the next worker recognises as ours and settles', async () => {
    await incident.take('contract.started');
    await dieWhileWorking();
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    await incident.settle();
    expect(await receiptsOf(incident.engine)).toEqual([]);

    await incident.pass(convergeLeaseMs);
    expect(await receiptsOf(incident.engine)).toEqual(['add already_member']);
    expect(await incident.engine.membershipRows()).toMatchObject([{ state: 'active', isOurs: true }]);
    await incident.event('contract.ended');
    expect(incident.tool.members(signs)).toEqual([]);
  });

  it('leaves a member who is removed even if their contract ends in between', async () => {
    await incident.take('contract.started');
    await dieWhileWorking();
    await incident.take('contract.ended');
    await incident.pass(convergeLeaseMs);
    expect(incident.tool.members(signs)).toEqual([]);
    expect(await receiptsOf(incident.engine)).toEqual(['remove removed']);
  });

  it('leaves a removal that the next worker finds done', async () => {
    await incident.event('contract.started');
    await incident.take('contract.ended');
    await dieWhileWorking();
    expect(incident.tool.members(signs)).toEqual([]);
    await incident.pass(convergeLeaseMs);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removing' });
    await incident.pass(minutes);
    expect(await receiptsOf(incident.engine)).toEqual(['add added', 'remove already_absent']);
    // A member who is put in by hand after the next reading is not ours.
    await incident.checkDrift();
    await incident.settle();
    expect(await incident.engine.membershipRows()).toMatchObject([{ state: 'removed', isOurs: false }]);
  });
});

describeEachDatabase('a trainer who is hired again while being removed', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.event('contract.started');
    await incident.take('contract.ended');
    await incident.engine.brake();
  });

  const hireAgain = () => incident.take('contract.started', { contract: 'cmc2' });
  const expectIn = async () => {
    await incident.settle();
    // At once, and not only when the lease of the worker before has run out.
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    await incident.pass(2 * convergeLeaseMs);
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    expect(await incident.engine.membershipRows()).toMatchObject([{ state: 'active', isOurs: true }]);
  };

  it('before the claim stays in', async () => {
    await hireAgain();
    await expectIn();
    expect(incident.removals()).toEqual([]);
  });

  it('before the call stays in', async () => {
    incident.tool.before = async (call) => {
      incident.tool.before = () => undefined;
      if (call === 'find') await hireAgain();
    };
    await expectIn();
    expect(incident.removals()).toEqual([]);
  });

  it('during the call, is in', async () => {
    incident.tool.before = async (call) => {
      if (call !== 'remove') return;
      incident.tool.before = () => undefined;
      await hireAgain();
    };
    await expectIn();
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`]);
  });

  it('after the call, is in', async () => {
    incident.tool.after = async (call) => {
      if (call !== 'remove') return;
      incident.tool.after = () => undefined;
      await hireAgain();
    };
    await expectIn();
  });

  it('after the receipt, is in', async () => {
    await incident.settle();
    expect(incident.tool.members(signs)).toEqual([]);
    await hireAgain();
    await expectIn();
  });
});

describeEachDatabase('an install that is held until it has been read', (openFresh) => {
  it('gets no older work done, while the others go on', async () => {
    const incident = createIncident(await openFresh());
    const { engine, tool } = incident;
    const acme = { trainer: 'cmu1', contract: 'cmc1' };
    const globex = { trainer: 'cmu2', contract: 'cmc2', project: 'lamps' };
    await incident.take('contract.started', acme, 'acme');
    await incident.take('contract.started', globex, 'globex');
    await incident.pass(0);
    expect([tool.members(signs), tool.members('lamps')]).toEqual([['cmu1'], ['cmu2']]);
    await incident.take('contract.ended', acme, 'acme');
    await incident.take('contract.ended', globex, 'globex');

    engine.clock.advance(2 * hours);
    await holdInstalls(engine, ['acme'], toInstant(engine.clock.now()));
    await incident.settle();
    expect([tool.members(signs), tool.members('lamps')]).toEqual([['cmu1'], []]);

    await incident.event('contract.started', { ...acme, contract: 'new', trainer: 'cmu3' }, 'acme');
    expect(tool.members(signs)).toEqual(['cmu1', 'cmu3']);

    await incident.pass(1000);
    const active = { new: { links: ['cml1'], people: ['cmu3'] } };
    const ended = { cmc1: { links: ['cml1'], people: ['cmu1'] } };
    await incident.read({ links: { cml1: signs }, active, ended });
    expect(tool.members(signs)).toEqual(['cmu3']);
  });
});
