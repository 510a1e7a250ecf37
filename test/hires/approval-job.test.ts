import { expect, it } from 'vitest';
import { createApiClient } from '../support/api-client.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { describeAnyDialect } from '../support/tries.ts';
import { until } from '../support/until.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

describeAnyDialect('a running bridge', (dialect) => {
  async function open() {
    const journey = await openEmployerJourney(dialect);
    const { sandbox, signs, consoleUrl, storage } = journey;
    const { proposalId } = sandbox.propose({ jobId: signs.id, trainer: {} });
    const api = createApiClient(consoleUrl);
    const params = { install: 'own', proposal: proposalId };
    const confirm = async () => await api.ask('hireConfirm', { params, body: {} });
    const hires = async () => (await api.ask('hireList', {})) as { items: Record<string, unknown>[] };
    const stored = () => storage.database.kysely.selectFrom('approval').selectAll().execute();
    return { ...journey, confirm, hires, stored };
  }

  it('follows an approval that is confirmed days later, and lets the trainer in', async () => {
    const { confirm, hires, live, sandbox, roster, signs } = await open();
    const { approvalId } = (await confirm()) as { approvalId: string };
    await live(10 * minuteMs);
    expect(roster()).toEqual({});
    await live(2 * dayMs);
    expect(await hires()).toMatchObject({ items: [{ waitsFor: 'a person to confirm it', jobId: signs.id }] });
    sandbox.resolveApproval(approvalId, 'confirmed');
    await live(12 * minuteMs);
    const trainers = sandbox.snapshot().contracts.flatMap(({ participants }) => participants);
    expect(roster()).toEqual({ signs: trainers.map(({ opentrainUserId }) => opentrainUserId) });
    expect(await hires()).toMatchObject({ items: [{ state: 'active', url: null, accessAt: expect.any(String) }] });
  });

  it('follows the others although one names a proposal that is gone', async () => {
    const { confirm, live, sandbox, roster, storage, clock } = await open();
    const gone = { install: 'own', kind: 'proposal_hire', subject: 'prp_gone', status: 'asked' } as const;
    const askedAt = new Date(clock.now().getTime() - minuteMs).toISOString();
    await storage.database.kysely
      .insertInto('approval')
      .values({ ...gone, askedAt })
      .execute();
    const { approvalId } = (await confirm()) as { approvalId: string };
    sandbox.resolveApproval(approvalId, 'confirmed');
    await live(5 * minuteMs);
    expect(roster()['signs']).toHaveLength(1);
  });

  it('keeps no link longer than it lives, even while the marketplace is down', async () => {
    const { confirm, live, sandbox, stored, accountId } = await open();
    await confirm();
    expect(await stored()).toMatchObject([{ status: 'pending', url: expect.stringMatching(/^https:/) }]);
    sandbox.setFaults(accountId, { serverError: 1 });
    await live(3 * dayMs + 20 * minuteMs);
    await until('its link is gone', stored, ([row]) => row?.status === 'pending' && row.url === null);
    sandbox.setFaults(accountId);
    const isExpired = (rows: Awaited<ReturnType<typeof stored>>) => rows[0]?.status === 'expired';
    await live(60 * minuteMs);
    await until('it has expired', stored, isExpired);
  });
});
