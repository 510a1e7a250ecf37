import { expect, it } from 'vitest';
import { employerEventTypes } from '../../../src/domain/event.ts';
import { createApiClient } from '../../support/api-client.ts';
import { openEmployerJourney } from '../../support/employer-journey.ts';
import { openHook } from '../../support/hook.ts';
import { secret } from '../../support/notices.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { createVisitor } from '../../support/visitor.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const longestMs = 5 * minuteMs;

describeAnyDialect("what happens at an employer's account", (dialect) => {
  it('sends a notice of a due payment with the page to pay it on, and one when it is no longer due', async () => {
    const hook = await openHook();
    const notifications = { channels: { ops: { type: 'webhook', url: hook.url, secret } } };
    const journey = await openEmployerJourney(dialect, { notifications });
    const { sandbox, signs, pass, feedIsRead, live, consoleUrl, storage } = journey;
    const { contractId } = sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    await feedIsRead();
    const paymentUrl = 'https://pay.example/inv?of=signs';
    const { id } = sandbox.billContract(contractId, { amountUsd: 50, paymentUrl });
    await live(30 * secondMs);
    const waiting = storage.database.kysely.selectFrom('pendingPayment').select('paymentId');
    const areWaiting = (count: number) =>
      until(
        `${count} wait`,
        () => waiting.execute(),
        ({ length }) => length === count,
      );
    await areWaiting(1);
    const notices = () => hook.posts.map(({ body }) => JSON.parse(body) as { type: string; data: Notice });
    await until(
      'a notice is sent',
      async () => notices(),
      ({ length }) => length === 1,
    );
    const about = { install: 'own', payment: id, url: paymentUrl };
    expect(notices()).toMatchObject([{ type: 'alert.payment_waiting', data: { state: 'raised', about } }]);

    const { troubles } = await createApiClient(consoleUrl, 'vera').ask('statusShow');
    const shown = { kind: 'payment_waiting', detail: expect.stringContaining(id), url: paymentUrl };
    expect(troubles).toContainEqual(expect.objectContaining(shown));
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const links = (await visitor.visit('/')).html.querySelectorAll('.todo a');
    expect(links.map((link) => link.getAttribute('href'))).toContain(paymentUrl);

    sandbox.settlePayment(id);
    await live(30 * secondMs);
    const lastAsked = storage.database.kysely.selectFrom('pendingPayment').select('absences');
    await until(
      'one list is without it',
      () => lastAsked.execute(),
      ([one]) => one !== undefined && one.absences !== null,
    );
    expect(notices()).toHaveLength(1);
    await live(10 * minuteMs);
    await areWaiting(0);
    // Until the next heartbeat the list of troubles says that nothing runs, because the time was moved on.
    await until(
      'its end is sent',
      async () => notices(),
      ({ length }) => length === 2,
    );
    expect(notices()[1]).toMatchObject({ type: 'alert.payment_waiting', data: { state: 'over' } });
    expect(journey.log.text()).not.toContain('pay.example');
  });

  it('never shows an invalid address, or one that only an event named', async () => {
    const { sandbox, accountId, signs, pass, feedIsRead, live, consoleUrl, storage } =
      await openEmployerJourney(dialect);
    const { contractId } = sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    await feedIsRead();
    sandbox.billContract(contractId, { paymentUrl: 'javascript:alert(1)' });
    const data = { invoiceId: 'inv_evil', contractId, paymentUrl: 'https://evil.example/pay' };
    sandbox.raiseNews(accountId, { type: 'payment.pending', resourceId: 'inv_evil', data });
    await live(30 * secondMs);
    const waiting = storage.database.kysely.selectFrom('pendingPayment').selectAll();
    const [one] = await until(
      'it is read',
      () => waiting.execute(),
      ({ length }) => length > 0,
    );
    expect(one?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const { body } = await visitor.visit('/');
    expect(body).toContain(one?.paymentId);
    for (const text of ['javascript:', 'evil']) expect(body).not.toContain(text);
  });

  it.each(['milestone.status_changed', 'contract.budget_state_changed', 'payment.pending'] as const)(
    'has the budget of a contract read by %s',
    async (type) => {
      const { sandbox, accountId, signs, pass, feedIsRead, live, storage } = await openEmployerJourney(dialect);
      const { contractId } = sandbox.hire({ jobId: signs.id });
      await pass(minuteMs);
      await feedIsRead();
      const budget = storage.database.kysely.selectFrom('budget').select(['askedAt', 'state']);
      const readSince = async (since: string) => {
        // Within two minutes: else it would be read after a day.
        for (let count = 0; count < 2; count += 1) await live(minuteMs);
        return await until(
          'it is read',
          () => budget.execute(),
          ([row]) => (row?.askedAt ?? '') > since,
        );
      };
      const [first] = await readSince('');
      const resourceId = type.startsWith('contract.') ? contractId : 'any';
      const lie = { contractId, state: 'DEPLETED', remainingVolume: 0 };
      sandbox.raiseNews(accountId, { type, resourceId, jobId: signs.id, data: lie });
      const [second] = await readSince(first?.askedAt ?? '');
      expect(second?.state).toBe(first?.state);
    },
  );

  it('stores and counts proposals and messages, and does nothing else', async () => {
    const eventTypes = [...employerEventTypes, 'proposal.received', 'proposal.status_changed', 'message.received'];
    const options = { isReachable: true, isCounted: true, eventTypes };
    const { sandbox, accountId, signs, pass, feedIsRead, live, quiet, asked, storage, consoleUrl } =
      await openEmployerJourney(dialect, options);
    await pass(minuteMs);
    await feedIsRead();
    await live(30 * secondMs);
    asked();
    const data = { conversationId: 'dm_1', proposalId: 'prp_1', jobId: signs.id };
    for (const type of ['proposal.received', 'proposal.status_changed', 'message.received'] as const) {
      sandbox.raiseNews(accountId, { type, resourceId: 'any', jobId: signs.id, data });
    }
    await quiet();
    await live(30 * secondMs);
    expect(sandbox.listDeliveries()).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: 'DELIVERED', attempts: [{ httpStatus: 200 }] })),
    );
    const stored = storage.database.kysely.selectFrom('delivery').select(['eventType', 'state', 'nextAttemptAt']);
    const done = { state: 'ignored', nextAttemptAt: null };
    expect(await stored.orderBy('eventType').execute()).toEqual(
      ['message.received', 'proposal.received', 'proposal.status_changed'].map((eventType) => ({ eventType, ...done })),
    );
    // The webhook itself is looked after on a schedule of its own.
    expect(new Set(asked().filter((path) => !path.startsWith('/webhooks')))).toEqual(new Set(['/updates']));
    const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
    // The first delivery has the feed read, which may be faster than the other deliveries.
    const counted = metrics.matchAll(/^gangway_(?:deliveries|feed_events)_total\{.*status="ignored"\} (\d+)$/gm);
    expect([...counted].reduce((total, [, count]) => total + Number(count), 0)).toBe(3);
  });

  it.each(['declined', 'expired'] as const)('ends no contract by an approval that is %s', async (status) => {
    const { sandbox, signs, roster, pass, feedIsRead, live, askForEnd, memberships } =
      await openEmployerJourney(dialect);
    const { contractId } = sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    await feedIsRead();
    const approval = await askForEnd(contractId);
    sandbox.resolveApproval(approval, status);
    await live(30 * secondMs);
    await live(longestMs);
    expect(roster()['signs']).toHaveLength(1);
    expect(await memberships()).toMatchObject([{ state: 'active', wanted: true }]);
  });

  it.each([0, 1])('finds an end without an event within five minutes, with %i failed readings', async (failures) => {
    const { sandbox, accountId, signs, roster, pass, feedIsRead, live } = await openEmployerJourney(dialect);
    const { contractId } = sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    await feedIsRead();
    await live(30 * secondMs);
    expect(roster()['signs']).toHaveLength(1);
    // The account was read a moment ago.
    await live(4 * minuteMs);
    const refused = { probability: 1, times: failures, operations: ['GET /auth/me'] };
    if (failures > 0) sandbox.setFaults(accountId, { forbidden: refused });
    sandbox.endContract(contractId);
    let waitedMs = 0;
    while ((roster()['signs'] ?? []).length > 0 && waitedMs < 2 * longestMs) {
      await live(15 * secondMs);
      waitedMs += 15 * secondMs;
    }
    expect(sandbox.snapshot().faults.happened).toHaveLength(failures);
    expect(waitedMs).toBeGreaterThan(3 * minuteMs);
    expect(waitedMs).toBeLessThanOrEqual(longestMs);
  });

  it('finds a hire within about a minute if the feed cannot be read', async () => {
    const { sandbox, accountId, signs, roster, pass, feedIsRead, live } = await openEmployerJourney(dialect);
    await pass(minuteMs);
    await feedIsRead();
    sandbox.setFaults(accountId, { forbidden: { probability: 1, operations: ['GET /updates'] } });
    for (let step = 0; step < 6; step += 1) await live(30 * secondMs);
    const { trainers } = sandbox.hire({ jobId: signs.id });
    for (let step = 0; step < 4; step += 1) await live(15 * secondMs);
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
  });

  it('asks once for each look at the feed, and for the whole account every four minutes', async () => {
    const options = { isCounted: true, hasUsualSchedule: true };
    const { sandbox, signs, pass, feedIsRead, live, asked } = await openEmployerJourney(dialect, options);
    sandbox.hire({ jobId: signs.id });
    await pass(minuteMs);
    await feedIsRead();
    // The budget of the new contract is read within two minutes.
    for (let count = 0; count < 2; count += 1) await live(minuteMs);
    asked();
    for (let passedMs = 0; passedMs < 12 * minuteMs; passedMs += 30 * secondMs) await live(30 * secondMs);
    const counts = Object.groupBy(asked(), (path) => path);
    const times = Object.fromEntries(Object.entries(counts).map(([path, all]) => [path, all?.length]));
    // Two jobs, of each the active and the ended contracts.
    expect(times).toEqual({ '/updates': 24, '/auth/me': 3, '/contracts': 12 });
  });
});

interface Notice {
  state: string;
  about: Record<string, string>;
}
