import { describe, expect, it } from 'vitest';
import { createApiClient } from '../../support/api-client.ts';
import { type Dialect, sqlite } from '../../support/databases.ts';
import { openHeldPlan } from '../../support/held-plan.ts';
import { openJourney } from '../../support/journey.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { openWaitingInvitation } from '../../support/waiting-invitation.ts';

const group = 'street-signs';

/** Four trainers whose removals the brake holds. */
async function openHeld(dialect: Dialect) {
  const held = await openHeldPlan(dialect);
  return { ...held, ids: held.ids.map(Number), api: createApiClient(held.consoleUrl) };
}

describeAnyDialect('an act by the API', (dialect) => {
  it('approves half of a plan, rejects the rest, and is in the audit log with its origin', async () => {
    const { api, ids, quiet, roster } = await openHeld(dialect);
    const [one, two, three, four] = ids;
    const approved = await api.ask('plansApprove', { params: { plan: 1 }, body: { only: [one, two] } });
    const counts = { decided: 2, open: 2, left: 0 };
    expect(approved).toMatchObject({ plan: 1, install: 'acme', ...counts, isRead: true, dropped: [] });
    await quiet();
    expect(roster()[group]).toHaveLength(2);
    const rejected = await api.ask('plansReject', { params: { plan: 1 }, body: { only: [three, four] } });
    expect(rejected).toEqual({ plan: 1, install: 'acme', decided: 2, stale: 0, open: 0 });
    expect(await api.send('plansReject', { params: { plan: 1 } })).toMatchObject({ status: 409 });
    const { items } = await api.ask('auditList');
    expect(items).toMatchObject([
      { actor: 'otto', action: 'plans reject', origin: expect.stringMatching(/^api (::ffff:)?127\.0\.0\.1$/) },
      { actor: 'otto', action: 'plans approve', subject: `plan 1, memberships ${one}, ${two}` },
    ]);
  });

  it('replays deliveries by their ids, or all that match', async () => {
    const { api, quiet } = await openHeld(dialect);
    const { items } = await api.ask('deliveriesList', { query: { type: 'contract.started' } });
    const [newest] = items as { id: number }[];
    const one = await api.ask('deliveriesReplay', { body: { ids: [newest?.id] } });
    expect(one).toMatchObject({ replayed: [newest?.id], left: [] });
    const matching = { matching: true, type: 'contract.started', install: 'acme' };
    const all = await api.ask('deliveriesReplay', { body: matching });
    expect((all['replayed'] as number[]).length).toBe((items as object[]).length);
    await quiet();
    const act = await api.ask('auditShow', { params: { act: Number(all['act']) } });
    expect(act).toMatchObject({ action: 'deliveries replay' });
    for (const body of [{}, { ids: [1], matching: true }, { ids: [] }]) {
      expect(await api.send('deliveriesReplay', { body })).toMatchObject({ status: 400 });
    }
    expect(await api.send('deliveriesReplay', { body: { ids: [999] } })).toMatchObject({ status: 404 });
  });

  it('ends with an answer when the instance is stopped while it waits for the marketplace', async () => {
    const { api, sandbox, app, storage } = await openHeld(dialect);
    sandbox.setFaults(undefined, { slow: { probability: 1, ms: 60_000 } });
    const approving = api.send('plansApprove', { params: { plan: 1 } });
    const wanted = storage.database.kysely.selectFrom('job').select('key').where('kind', '=', 'reconcile');
    const reads = () => wanted.execute();
    await until('the plan is being read', reads, ({ length }) => length > 0);
    await app.stop();
    expect(await approving).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  });

  it('ends a contract and says that it goes on, links a project and unlinks it', async () => {
    const { api, hired, quiet, storage } = await openHeld(dialect);
    const contract = hired[0]?.contractId ?? '';
    const ended = await api.ask('contractsEnd', { params: { contract } });
    expect(ended).toEqual({ install: 'acme', contractId: contract });
    expect(await api.send('contractsEnd', { params: { contract } })).toMatchObject({ status: 409 });
    // Else their removal could become due again seconds after the first plan, and would wait for time to pass.
    await quiet();
    await api.ask('contractsReopen', { params: { contract }, body: { install: 'acme' } });
    const job = await storage.database.kysely.selectFrom('link').select('jobId').executeTakeFirst();
    const cars = { project: 'cars', job: job?.jobId };
    const linked = await api.ask('linksAdd', { params: { install: 'acme' }, body: cars });
    expect(linked).toMatchObject({ install: 'acme', project: 'cars' });
    await quiet();
    const { links } = await api.ask('linksList');
    expect(links).toMatchObject([{ linkId: linked['linkId'], project: 'cars', leads: 'here' }]);
    const named = { params: { install: 'acme', link: 'cars' } };
    expect(await api.ask('linksRemove', named)).toMatchObject({ linkId: linked['linkId'], isRemoved: false });
    const removed = await api.ask('linksRemove', { ...named, body: { yes: true } });
    expect(removed).toMatchObject({ linkId: linked['linkId'], isRemoved: true });
    await quiet();
    expect(await api.ask('linksList')).toMatchObject({ links: [] });
  });
});

describe('an act by the API', () => {
  it('with a key is done once, and its caller gets the same answer', async () => {
    const { consoleUrl, password } = await openWaitingInvitation();
    const api = createApiClient(consoleUrl);
    const { items } = await api.ask('membersWaiting');
    expect(items).toMatchObject([{ id: 1, waitsFor: 'operator', invitation: { kind: 'password' } }]);
    const params = { membership: 1 };
    const first = await api.send('membersInvitation', { params, key: 'a-1' });
    expect(first.body).toMatchObject({ membershipId: 1, invitation: { kind: 'password', password } });
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const again = await api.send('membersInvitation', { params, body: {}, key: 'a-1' });
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');

    const other = await api.send('membersConverge', { params, key: 'a-1' });
    expect(other).toMatchObject({ status: 422, body: { code: 'key_reused', status: 422 } });
    const refused = await api.send('membersInvitation', { params, key: 'a-2' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const refusedAgain = await api.send('membersInvitation', { params, key: 'a-2' });
    expect(refusedAgain).toMatchObject({ status: 409, body: refused.body });
    expect(refusedAgain.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    const viewer = createApiClient(consoleUrl, 'vera');
    expect(await viewer.send('membersInvitation', { params, key: 'a-1' })).toMatchObject({ status: 403 });
    for (const key of ['', 'two words', 'x'.repeat(201)]) {
      expect(await api.send('membersInvitation', { params, key })).toMatchObject({ status: 400 });
    }
    expect(JSON.stringify(await api.ask('auditList'))).not.toContain(password);
  });

  it('connects a customer, reads them, and forgets them', async () => {
    const { sandbox, consoleUrl, quiet } = await openJourney(sqlite, { projects: ['acme-*'] });
    const api = createApiClient(consoleUrl);
    const { token } = sandbox.createInstall();
    const params = { install: 'globex' };
    const there = { tool: 'list', projects: ['globex-*'] };
    const problem = { code: 'unprocessable', detail: expect.stringContaining('no token') };
    const refused = await api.send('installsConnect', { params, body: there });
    expect(refused).toMatchObject({ status: 422, body: problem });
    const connected = await api.ask('installsConnect', { params, body: { token, ...there } });
    expect(connected).toMatchObject({ install: 'globex', links: 0, missing: [] });
    expect(JSON.stringify(connected)).not.toContain(token);
    await quiet();
    const { installs } = await api.ask('installsList');
    expect(installs).toMatchObject([{ install: 'acme' }, { install: 'globex', livesIn: 'database' }]);
    expect(await api.ask('reconcileNow', { body: { wait: '0s' } })).toMatchObject({
      installs: [{ install: 'acme' }, { install: 'globex' }],
    });
    await quiet();
    expect(await api.ask('installsRemove', { params, body: {} })).toEqual({ ...params, waiting: [] });
    expect(await api.send('reconcileNow', { body: params })).toMatchObject({ status: 404 });
    expect(await api.send('installsRemove', { params: { install: 'acme' } })).toMatchObject({ status: 422 });
  });

  it('runs the checks of the doctor', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const api = createApiClient(consoleUrl);
    const { checks } = await api.ask('doctorRun');
    expect(checks).toContainEqual(expect.objectContaining({ name: 'tool list', status: 'ok' }));
    expect(await api.send('toolsAccept', { params: { tool: 'none' } })).toMatchObject({ status: 404 });
    expect(await api.send('notificationsTest', { body: {} })).toMatchObject({ status: 404 });
    expect(await api.ask('usageReport', { body: { install: 'acme' } })).toMatchObject({
      installs: [{ install: 'acme' }],
    });
    expect(await api.send('usageDiscard')).toMatchObject({ status: 404 });
    expect(await api.send('usageTakeBack')).toMatchObject({ status: 404 });
    expect(await api.send('usageSend')).toMatchObject({ status: 404 });
    expect(await api.ask('usageRecount')).toEqual({ trainers: 0, days: 0 });
  });
});
