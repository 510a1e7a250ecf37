import { expect, it } from 'vitest';
import { listDeliveries } from '../../../src/inbox/delivery-list-store.ts';
import { describeEachDialect } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { minutesAgo, toBody } from '../../support/lifecycle-events.ts';
import { describeAnyDialect } from '../../support/tries.ts';

const hourMs = 3_600_000;
const graceMs = 15 * 60_000;

describeEachDialect('a delivery becomes a member', (dialect) => {
  it('brings a hired trainer in, and out again when the contract ends', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    await customer.link('street-signs');

    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    const trainer = trainers[0]?.opentrainUserId ?? '';
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [trainer] });
    expect(await journey.memberships()).toMatchObject([
      { trainerId: trainer, groupId: 'street-signs', state: 'active', isOurs: true },
    ]);

    sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [] });
    expect(await journey.receipts()).toEqual(['add added', 'remove removed']);
    expect(await journey.memberships()).toMatchObject([{ state: 'removed' }]);
    expect(sandbox.listDeliveries().map(({ status }) => status)).not.toContain('FAILED');
  });
});

describeAnyDialect('a delivery becomes a member, or not', (dialect) => {
  it('lets a hire without a work address wait, and finds the address once there is consent', async () => {
    const journey = await openJourney(dialect, { piiConsent: false });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');

    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    // Asked again, and still refused: nothing but the consent makes the difference.
    for (let asked = 0; asked < 2; asked += 1) await journey.pass(hourMs);
    expect(await journey.memberships()).toMatchObject([{ state: 'waiting_email' }]);
    expect(journey.roster()).toEqual({});

    sandbox.setPiiConsent(customer.installId, true);
    await journey.pass(hourMs);
    expect(journey.roster()).toEqual({ 'street-signs': [trainers[0]?.opentrainUserId] });
    expect(await journey.receipts()).toEqual(['add added']);
    const left = journey.storage.database.kysely.selectFrom('readRequest').selectAll();
    expect(await left.execute()).toEqual([]);
  });

  it('reads what a minimal event omits', async () => {
    const journey = await openJourney(dialect, { payloads: 'minimal' });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');

    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId, trainers: [{}, {}] });
    await journey.quiet();
    const ids = trainers.map(({ opentrainUserId }) => opentrainUserId).sort();
    expect(journey.roster()).toEqual({ 'street-signs': ids });

    sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [] });
  });

  it('makes two links on one job two memberships', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    await customer.link('street-signs');
    await customer.link('street-lamps');

    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    const ids = [trainers[0]?.opentrainUserId];
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-lamps': ids, 'street-signs': ids });
    expect(await journey.memberships()).toHaveLength(2);

    sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-lamps': [], 'street-signs': [] });
  });

  it('never reopens a contract by a start that arrives after its end', async () => {
    const journey = await openJourney(dialect);
    const about = { contract: 'ctr1', trainer: 'usr1', project: 'street-signs' };
    const started = { ...about, type: 'contract.started', createdAt: minutesAgo(60) } as const;
    const ended = { ...about, type: 'contract.ended', createdAt: minutesAgo(30) } as const;

    // Late, then again, then one that even claims to be younger than the end.
    await journey.deliver(toBody({ ...ended, number: 2 }));
    await journey.deliver(toBody({ ...started, number: 1 }));
    await journey.deliver(toBody({ ...started, number: 1 }));
    await journey.deliver(toBody({ ...started, number: 3, createdAt: minutesAgo(15) }));
    await journey.quiet();
    expect(await journey.memberships()).toEqual([]);

    // The same after it was there: out is out.
    const other = { contract: 'ctr2', trainer: 'usr2' };
    await journey.deliver(toBody({ ...started, ...other, number: 4 }));
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ['usr2'] });
    await journey.deliver(toBody({ ...ended, ...other, number: 6 }));
    await journey.quiet();
    await journey.deliver(toBody({ ...started, ...other, number: 7, createdAt: minutesAgo(1) }));
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [] });
    expect(await journey.receipts()).toEqual(['add added', 'remove removed']);
  });

  it('keeps a trainer with two contracts on one project until the last has ended', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    await customer.link('street-signs');
    const trainers = [{ opentrainUserId: 'usr1' }];

    const first = sandbox.hire({ jobId: customer.jobId, trainers });
    const second = sandbox.hire({ jobId: customer.jobId, trainers });
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ['usr1'] });

    sandbox.endContract(first.contractId);
    await journey.quiet();
    await journey.pass(hourMs);
    expect(journey.roster()).toEqual({ 'street-signs': ['usr1'] });
    expect(await journey.receipts()).toEqual(['add added']);

    sandbox.endContract(second.contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [] });
    expect(await journey.receipts()).toEqual(['add added', 'remove removed']);
  });

  it('leaves members alone who were there before it', async () => {
    const journey = await openJourney(dialect, { roster: { 'street-signs': ['usr1'] } });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');

    const trainers = [{ opentrainUserId: 'usr1' }, { opentrainUserId: 'usr2' }];
    const hires = trainers.map((one) => sandbox.hire({ jobId: customer.jobId, trainers: [one] }));
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ['usr1', 'usr2'] });

    for (const { contractId } of hires) sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ['usr1'] });
    expect(await journey.memberships()).toMatchObject([
      { trainerId: 'usr1', state: 'released' },
      { trainerId: 'usr2', state: 'removed' },
    ]);
  });

  it('answers `ignored` to a type that nothing uses, and keeps it', async () => {
    const journey = await openJourney(dialect);
    const answer = await journey.deliver({ id: '1', type: 'contract.paused', resourceId: 'ctr1' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'ignored' } });
    await journey.quiet();
    expect(await listDeliveries(journey.storage.database.kysely, { limit: 5 })).toMatchObject([
      { state: 'ignored', eventType: 'contract.paused' },
    ]);
    expect(await journey.memberships()).toEqual([]);
  });

  it('provisions no trainer for a link that the tool manages itself', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    await customer.link('street-signs', { provisioningMode: 'MANAGED_ADAPTER' });

    const { contractId } = sandbox.hire({ jobId: customer.jobId });
    sandbox.endContract(contractId);
    await journey.quiet();
    const deliveries = await listDeliveries(journey.storage.database.kysely, { limit: 9 });
    expect(deliveries.map(({ eventType, state }) => `${eventType} ${state}`).sort()).toEqual([
      'contract.ended handled',
      'contract.started handled',
      'project_link.created handled',
    ]);
    expect(await journey.memberships()).toEqual([]);
  });

  it("provisions no trainer outside the customer's own projects", async () => {
    const journey = await openJourney(dialect, { projects: ['street-*', 'lamps'] });
    const { sandbox, customer } = journey;
    for (const project of ['street-signs', 'lamps', 'lamps-2', 'bank-notes']) {
      await customer.link(project);
    }
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    const ids = [trainers[0]?.opentrainUserId];
    expect(journey.roster()).toEqual({ lamps: ids, 'street-signs': ids });
    expect(await journey.memberships()).toHaveLength(2);
  });

  it('keeps all members for the grace period after a link is removed, and then removes them', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    const linkId = await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    const ids = trainers.map(({ opentrainUserId }) => opentrainUserId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ids });

    await customer.api('DELETE', `/project-links/${linkId}`);
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([
      { state: 'removing', cause: 'link_removed', wanted: false, nextAttemptAt: null },
    ]);
    await journey.pass(graceMs - 60_000);
    expect(journey.roster()).toEqual({ 'street-signs': ids });
    await journey.pass(60_000);
    expect(journey.roster()).toEqual({ 'street-signs': [] });
    expect(await journey.receipts()).toEqual(['add added', 'remove removed']);
  });

  it('changes nothing in the tool when a project is linked again', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    const linkId = await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    const ids = trainers.map(({ opentrainUserId }) => opentrainUserId);
    await journey.quiet();

    await customer.api('DELETE', `/project-links/${linkId}`);
    await journey.quiet();
    await customer.link('street-signs');
    await journey.quiet();
    await journey.pass(2 * graceMs);
    expect(journey.roster()).toEqual({ 'street-signs': ids });
    expect(await journey.receipts()).not.toContain('remove removed');
    expect(await journey.memberships()).toMatchObject([{ state: 'active', isOurs: true }]);
  });

  it('gives no access after an old event, until a read confirms it', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    const linkId = await customer.link('street-signs');
    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    const trainer = trainers[0]?.opentrainUserId ?? '';

    const days = 31 * 24 * 60;
    const old = { type: 'contract.started', createdAt: minutesAgo(days), link: linkId } as const;
    const where = { project: 'street-signs', number: 1 };
    await journey.deliver(toBody({ ...old, ...where, contract: 'gone', trainer: 'long-ago' }));
    await journey.deliver(toBody({ ...old, ...where, contract: contractId, trainer: 'long-gone' }));
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [trainer] });
    expect(await journey.receipts()).toEqual(['add added']);
  });
});
