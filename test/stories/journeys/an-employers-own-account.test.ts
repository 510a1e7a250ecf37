import { expect, it } from 'vitest';
import { endpointsOf } from '../../../src/installs/install-store.ts';
import { listTroubledSubscriptions } from '../../../src/subscription/subscription-store.ts';
import {
  type EmployerJourney,
  type EmployerOptions,
  openEmployerJourney,
  readEveryMs,
} from '../../support/employer-journey.ts';
import { post } from '../../support/receiver-harness.ts';
import { sign } from '../../support/sign.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The webhooks that are known here, oldest first. */
const knownTo = ({ storage: { database, box } }: EmployerJourney) => endpointsOf({ database, box }, 'own');

/** How a delivery is answered that is signed with each secret, and means nothing. */
async function answersTo({ receiverUrl, clock }: EmployerJourney, secrets: readonly (string | null)[]) {
  const probes = secrets.map(async (secret, index) => {
    const body = `{"type": "probe.sent", "resourceId": "${index}"}`;
    const headers = { 'content-type': 'application/json' };
    const signature = sign(body, secret ?? '', clock.seconds());
    const { status } = await post(`${receiverUrl}/webhooks/own`, body, {
      ...headers,
      'x-service-signature': signature,
    });
    return status;
  });
  return await Promise.all(probes);
}

describeAnyDialect("an employer's own account", (dialect) => {
  it.each<[string, EmployerOptions]>([
    ['with its configuration', {}],
    ['connected by its token and jobs alone', { connects: 'unknown' }],
  ])('adds and removes people although nothing can reach the bridge, %s', async (_, options) => {
    const { sandbox, signs, lamps, roster, memberships, pass } = await openEmployerJourney(dialect, options);
    const [ada, ben] = [signs, lamps].map(({ id: jobId }) => sandbox.hire({ jobId }));
    const [adaId, benId] = [ada, ben].map((hired) => hired?.trainers[0]?.opentrainUserId ?? '');
    await pass(readEveryMs);
    expect(roster()).toEqual({ signs: [adaId], lamps: [benId] });
    expect(await memberships()).toMatchObject([
      { state: 'active', isOurs: true },
      { state: 'active', isOurs: true },
    ]);
    sandbox.endContract(ada?.contractId ?? '');
    await pass(readEveryMs);
    expect(roster()).toEqual({ signs: [], lamps: [benId] });
    expect(sandbox.listDeliveries()).toEqual([]);
  });

  it.each(['unknown', 'configured'] as const)(
    'has its webhook made by connecting, and another once it is disabled, with no delivery refused: %s',
    async (connects) => {
      const journey = await openEmployerJourney(dialect, { connects, isReachable: true });
      const { sandbox, signs, roster, quiet, clock, door, receiverUrl, webhooks } = journey;
      const hire = () => sandbox.hire({ jobId: signs.id }).trainers[0]?.opentrainUserId ?? '';
      const hired = [hire()];
      await quiet();
      expect(roster()).toEqual({ signs: hired });
      const [first] = await knownTo(journey);

      door.leadTo(null);
      for (let count = 0; count < 10; count += 1) hired.push(hire());
      await sandbox.advance(3 * hourMs);
      expect(await webhooks()).toMatchObject([{ id: first?.endpointId, status: 'DISABLED' }]);
      door.leadTo(receiverUrl);
      const refused = door.answers().length;

      clock.advance(5 * minuteMs);
      const [, second] = await until(
        'another takes over',
        () => knownTo(journey),
        ({ length }) => length === 2,
      );
      expect(await answersTo(journey, [first?.secret ?? null, second?.secret ?? null])).toEqual([200, 200]);
      hired.push(hire());
      await quiet();
      clock.advance(5 * minuteMs);
      await until(
        'the first is deleted',
        () => knownTo(journey),
        ({ length }) => length === 1,
      );
      expect(await webhooks()).toMatchObject([{ id: second?.endpointId, status: 'ACTIVE' }]);
      hired.push(hire());
      await quiet();
      expect(roster()['signs']?.sort()).toEqual(hired.sort());
      expect(new Set(door.answers().slice(refused))).toEqual(new Set([200]));
    },
  );

  it('adds its people without a webhook that it may not have, and says why', async () => {
    const { storage, sandbox, signs, roster, pass, log } = await openEmployerJourney(dialect, {
      connects: 'unknown',
      isReachable: true,
      featuresOff: ['public_api_webhooks'],
    });
    const { trainers } = sandbox.hire({ jobId: signs.id });
    await pass(readEveryMs);
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
    const [troubled] = await listTroubledSubscriptions(storageOf(storage.database));
    expect(troubled?.trouble.says).toContain('the feature public_api_webhooks is off for the account');
    expect(log.lines()).toContainEqual(expect.objectContaining({ says: troubled?.trouble.says }));
  });

  it('stores deliveries about proposals and messages, and does nothing else', async () => {
    const { sandbox, accountId, quiet, roster, storage } = await openEmployerJourney(dialect, {
      connects: 'unknown',
      isReachable: true,
    });
    const types = ['proposal.received', 'proposal.status_changed', 'message.received'] as const;
    for (const type of types) sandbox.raiseNews(accountId, { type, resourceId: 'res_1', data: {} });
    await quiet();
    const kept = storage.database.kysely.selectFrom('delivery').select(['eventType', 'state']).orderBy('eventType');
    expect(await kept.execute()).toEqual([...types].sort().map((eventType) => ({ eventType, state: 'ignored' })));
    expect(roster()).toEqual({});
  });

  it('hears of a hire by its webhook at once', async () => {
    const { sandbox, signs, roster, quiet } = await openEmployerJourney(dialect, { isReachable: true });
    const { trainers } = sandbox.hire({ jobId: signs.id });
    await quiet();
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
    expect(sandbox.listDeliveries()).toMatchObject([{ type: 'contract.created', status: 'DELIVERED' }]);
  });

  it('hears of a hire by the feed, if nothing reaches the bridge', async () => {
    const { sandbox, signs, roster, pass, feedIsRead, clock, storage } = await openEmployerJourney(dialect);
    await pass(readEveryMs);
    await feedIsRead();
    const { trainers, contractId } = sandbox.hire({ jobId: signs.id });
    clock.advance(30_000);
    await feedIsRead();
    expect(roster()).toEqual({ signs: [trainers[0]?.opentrainUserId] });
    const heard = storage.database.kysely.selectFrom('delivery').select(['eventType', 'subjectId', 'deliveryId']);
    const created = { eventType: 'contract.created', subjectId: contractId, deliveryId: null };
    expect(await heard.execute()).toEqual([created]);
  });

  it('hears of a lost delivery with the next one, each once', async () => {
    const { sandbox, accountId, signs, roster, quiet, pass, feedIsRead, storage } = await openEmployerJourney(dialect, {
      isReachable: true,
    });
    await pass(readEveryMs);
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

  it('hears of an end that a person has confirmed, and removes nobody if it was declined', async () => {
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
    await pass(readEveryMs);
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
    await pass(readEveryMs);
    expect(await memberships()).toMatchObject([{ state: 'waiting_email' }]);
    const person = storage.database.kysely.selectFrom('person').select('addressMissing');
    expect(await person.execute()).toEqual([{ addressMissing }]);
  });
});
