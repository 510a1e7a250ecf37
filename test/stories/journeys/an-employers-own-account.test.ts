import { expect, it } from 'vitest';
import { type EmployerOptions, openEmployerJourney } from '../../support/employer-journey.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describeAnyDialect("an employer's own account", (dialect) => {
  it('brings who is hired in, and out again, with nothing that reaches the bridge', async () => {
    const { sandbox, signs, lamps, roster, memberships, pass } = await openEmployerJourney(dialect);
    const [ada, ben] = [signs, lamps].map(({ id: jobId }) => sandbox.hire({ jobId }));
    const [adaId, benId] = [ada, ben].map((hired) => hired?.trainers[0]?.opentrainUserId ?? '');
    await pass(minuteMs);
    expect(roster()).toEqual({ signs: [adaId], lamps: [benId] });
    expect(await memberships()).toMatchObject([
      { state: 'active', isOurs: 1 },
      { state: 'active', isOurs: 1 },
    ]);
    sandbox.endContract(ada?.contractId ?? '');
    await pass(4 * minuteMs);
    expect(roster()).toEqual({ signs: [], lamps: [benId] });
    expect(sandbox.listDeliveries()).toEqual([]);
  });

  it('hears of a hire by its webhook at once', async () => {
    const { sandbox, signs, roster, quiet } = await openEmployerJourney(dialect, { isReachable: true });
    const { trainers } = sandbox.hire({ jobId: signs.id });
    await quiet();
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
    expect(sandbox.listDeliveries()).toMatchObject([{ type: 'contract.created', status: 'DELIVERED' }]);
  });

  it('hears of a hire by the feed, where nothing reaches the bridge', async () => {
    const { sandbox, signs, roster, pass, feedIsRead, clock, storage } = await openEmployerJourney(dialect);
    await pass(minuteMs);
    await feedIsRead();
    const { trainers, contractId } = sandbox.hire({ jobId: signs.id });
    clock.advance(30_000);
    await feedIsRead();
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
    const heard = storage.database.kysely.selectFrom('delivery').select(['eventType', 'subjectId', 'deliveryId']);
    const created = { eventType: 'contract.created', subjectId: contractId, deliveryId: null };
    expect(await heard.execute()).toEqual([created]);
  });

  it('hears with the next delivery of one that was lost, each once', async () => {
    const { sandbox, accountId, signs, roster, quiet, pass, feedIsRead, storage } = await openEmployerJourney(dialect, {
      isReachable: true,
    });
    await pass(minuteMs);
    await feedIsRead();
    sandbox.setFaults(accountId, { lose: 1 });
    const lost = sandbox.hire({ jobId: signs.id });
    await quiet();
    expect(roster()).toEqual({});
    sandbox.setFaults(accountId);
    const next = sandbox.hire({ jobId: signs.id });
    const ids = [lost, next].map(({ trainers }) => trainers[0]?.opentrainUserId ?? '');
    await until('both are in', roster, ({ signs: people = [] }) => people.length === 2);
    await quiet();
    expect(roster()['signs']?.sort()).toEqual(ids.sort());
    expect(await storage.database.kysely.selectFrom('delivery').select('id').execute()).toHaveLength(2);
  });

  it('hears of an end that a person has confirmed, and takes no one out where one was declined', async () => {
    const { sandbox, signs, roster, quiet, clock, askForEnd } = await openEmployerJourney(dialect, {
      isReachable: true,
    });
    const hired = [0, 1].map(() => sandbox.hire({ jobId: signs.id }));
    await quiet();
    const [stays, goes] = [await askForEnd(hired[0]?.contractId ?? ''), await askForEnd(hired[1]?.contractId ?? '')];
    sandbox.resolveApproval(stays, 'declined');
    await quiet();
    expect(roster()['signs']).toHaveLength(2);
    clock.advance(1000);
    sandbox.resolveApproval(goes, 'confirmed');
    await quiet();
    expect(roster()).toEqual({ signs: [hired[0]?.trainers[0]?.opentrainUserId] });
  });

  it('keeps its people through a revoked token, a job that is gone, and a list that is empty', async () => {
    const { sandbox, accountId, signs, roster, pass } = await openEmployerJourney(dialect);
    const { trainers } = sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    const inSigns = { signs: [trainers[0]?.opentrainUserId] };
    expect(roster()).toEqual(inSigns);
    for (const answer of ['forbidden', 'cutOff', 'empty'] as const) {
      sandbox.setFaults(accountId, { [answer]: { probability: 1, operations: ['GET /contracts'] } });
      for (let count = 0; count < 3; count += 1) await pass(hourMs);
      expect(roster()).toEqual(inSigns);
    }
    sandbox.setFaults(accountId);
    sandbox.revokeAccountTokens(accountId);
    for (let count = 0; count < 3; count += 1) await pass(hourMs);
    expect(roster()).toEqual(inSigns);
  });

  it.each<[string, EmployerOptions]>([
    ['no_scope', { scopes: ['payments:read', 'messages:read'] }],
    ['refused', { isClaimed: false }],
  ])('lets a trainer without a work address wait, and knows why: %s', async (addressMissing, account) => {
    const { sandbox, signs, memberships, pass, storage } = await openEmployerJourney(dialect, account);
    sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    expect(await memberships()).toMatchObject([{ state: 'waiting_email' }]);
    const person = storage.database.kysely.selectFrom('person').select('addressMissing');
    expect(await person.execute()).toEqual([{ addressMissing }]);
  });
});
