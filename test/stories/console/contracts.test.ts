import { describe, expect, it } from 'vitest';
import { fullEvent } from '../../support/event-bodies.ts';
import { actsIn, openSignedIn } from './signed-in.ts';

const minuteMs = 60_000;

/** A contract whose end was delivered, and that a reading lists as active long after. */
async function openDisputed() {
  const journey = await openSignedIn('otto');
  const { sandbox, customer, deliver, quiet, pass, visitor, home } = journey;
  await customer.link('street-signs');
  const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
  sandbox.hire({ jobId: customer.jobId });
  await quiet();
  const trainer = trainers[0]?.opentrainUserId ?? '';
  await deliver(fullEvent({ type: 'contract.ended', contract: contractId, trainer, project: 'street-signs' }));
  await quiet();
  await pass(20 * minuteMs);
  await visitor.press(home, 'Sync now');
  await quiet();
  return { ...journey, contractId };
}

describe('the contracts', () => {
  it('are listed by page, and found by their status', async () => {
    const { sandbox, customer, quiet, visitor, storage } = await openSignedIn('vera');
    await customer.link('street-signs');
    const ids = [1, 2].map(() => sandbox.hire({ jobId: customer.jobId }).contractId).sort();
    await quiet();
    const budget = { install: 'acme', consumedFraction: 0.25, isWatched: true };
    const budgets = ids.map((contractId) => ({ ...budget, contractId }));
    await storage.database.kysely.insertInto('budget').values(budgets).execute();
    const all = await visitor.visit('/contracts');
    for (const id of ids) expect(all.html.querySelector(`a[href="/contracts/${id}"]`)).not.toBeNull();
    expect(all.text).toContain('| 25 % |');
    expect((await visitor.visit('/contracts?status=ended')).text).toContain('No contracts match.');
    expect((await visitor.visit('/contracts?suspects=true')).text).toContain('No contracts match.');
    const page = await visitor.visit(`/contracts/${ids[0]}`);
    expect(page.html.querySelector('main form[method=post]')).toBeNull();
  });

  it('that are disputed are linked from the home page, and decided by an operator', async () => {
    const { visitor, contractId, quiet, pass, memberships, storage } = await openDisputed();
    const home = await visitor.visit('/');
    const todo = home.html
      .querySelectorAll('.todo')
      .find(({ text }) => text.includes('1 ended contract of acme is listed as active.'));
    const list = await visitor.visit(todo?.querySelector('a')?.getAttribute('href') ?? '');
    expect(list.html.querySelectorAll('td a').map((link) => link.getAttribute('href'))).toEqual([
      `/contracts/${contractId}`,
    ]);
    const contract = await visitor.visit(`/contracts/${contractId}`);
    expect((await visitor.press(contract, 'Treat it as active')).path).toBe(`/contracts/${contractId}`);
    await quiet();
    expect((await visitor.visit('/contracts?status=disputed')).text).toContain('No contracts match.');
    expect((await memberships()).map(({ state }) => state)).toEqual(['active', 'active']);
    await visitor.press(await visitor.visit(`/contracts/${contractId}`), 'End access by it now');
    await pass(minuteMs);
    expect((await memberships()).map(({ state }) => state).sort()).toEqual(['active', 'removed']);
    expect(await actsIn({ storage })).toMatchObject([
      { actor: 'otto', action: 'reconcile' },
      { actor: 'otto', action: 'contracts reopen' },
      { actor: 'otto', action: 'contracts end' },
    ]);
  });
});
