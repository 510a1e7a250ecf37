import { Webhook } from 'standardwebhooks';
import { expect, it, vi } from 'vitest';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import { type Hook, type HookPost, openHook } from '../../support/hook.ts';
import { openJourney } from '../../support/journey.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { secret } from '../../support/notices.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface ReceivedNotice {
  notice: string;
  contractId: string;
  isRepeat: boolean;
}

/** What a receiver outside got that trusts nothing but the signature; each message counts once. */
function listReceived({ posts }: Hook): ReceivedNotice[] {
  const messages = new Map(posts.map((post) => [post.headers['webhook-id'], toReceived(post)]));
  return [...messages.values()];
}

function toReceived({ headers, body }: HookPost): ReceivedNotice {
  // The hours pass by the test's clock, and the signature says what it was.
  vi.useFakeTimers({ toFake: ['Date'], now: Number(headers['webhook-timestamp']) * 1000 });
  const message = new Webhook(secret).verify(body, headers as Record<string, string>);
  vi.useRealTimers();
  const { type, data } = message as { type: string; data: Omit<ReceivedNotice, 'notice'> };
  return { notice: type, contractId: data.contractId, isRepeat: data.isRepeat };
}

/** A tool that tells how much all trainers has done on one day in all. */
function createWork(): { adapter: Adapter; day: string; hours: Map<string, number> } {
  const { adapter } = createMemoryTool();
  const work = { day: '', hours: new Map<string, number>() };
  const usage = { counts: ['seconds' as const], outlivesRemoval: true };
  return Object.assign(work, {
    adapter: {
      ...adapter,
      capabilities: { ...adapter.capabilities, usage },
      usageScopeFor: ({ externalProjectId }) => externalProjectId,
      async *readUsage() {
        for (const [memberId, hours] of work.hours) {
          yield { memberId, of: 'day', day: work.day, seconds: hours * 3600 };
        }
      },
    } satisfies Adapter,
  });
}

async function openJob(dialect: Parameters<typeof openJourney>[0]) {
  const work = createWork();
  const hook = await openHook();
  const channels = { billing: { type: 'webhook', url: hook.url, secret } };
  const journey = await openJourney(dialect, { adapter: work.adapter, piiConsent: true, notifications: { channels } });
  const { sandbox, customer, clock } = journey;
  work.day = clock.now().toISOString().slice(0, 10);
  await customer.link('street-signs');
  await journey.quiet();
  const hire = async (volume: number) => {
    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    sandbox.fundMilestone(contractId, { volume });
    await journey.quiet();
    return { contractId, memberId: trainers[0]?.opentrainUserId ?? '' };
  };
  const { kysely } = journey.storage.database;
  const budgetOf = async (contractId: string) => {
    const row = kysely.selectFrom('budget').selectAll().where('contractId', '=', contractId);
    return await row.executeTakeFirst();
  };
  return { ...journey, work, hire, budgetOf, received: () => listReceived(hook) };
}

type Job = Awaited<ReturnType<typeof openJob>>;

/** An hour passes, and with it a report of usage. */
async function passUntilReceived({ clock, received }: Job, notices: string[]): Promise<void> {
  clock.advance(hourMs);
  await until(
    'the notices are there',
    () => received().map(({ notice }) => notice),
    (seen) => {
      return seen.length >= notices.length;
    },
  );
  expect(received().map(({ notice }) => notice)).toEqual(notices);
}

describeAnyDialect('a budget that runs out', (dialect) => {
  it.each([
    ['lost', { lose: 1 }],
    ['repeated', { repeat: 1 }],
    ['out of their order', { reorder: 1, repeat: 0.5 }],
  ])('is reported once each time while its events are %s', async (_how, faults) => {
    const job = await openJob(dialect);
    const { sandbox, work, clock, received, budgetOf } = job;
    const { contractId, memberId } = await job.hire(10);
    const other = await job.hire(10);
    sandbox.setFaults(undefined, faults);

    work.hours.set(memberId, 8.5).set(other.memberId, 1);
    await passUntilReceived(job, ['budget.low']);
    work.hours.set(memberId, 10.5);
    await passUntilReceived(job, ['budget.low', 'budget.depleted']);
    sandbox.fundMilestone(contractId, { volume: 20 });
    await passUntilReceived(job, ['budget.low', 'budget.depleted', 'budget.ok']);

    work.hours.set(memberId, 11);
    const { askedAt = null } = (await budgetOf(contractId)) ?? {};
    clock.advance(dayMs);
    await until(
      'it was read once more',
      async () => {
        // A reading that was under way during the jump has lost its lease, and is tried again some seconds later.
        clock.advance(1000);
        return (await budgetOf(contractId))?.askedAt ?? null;
      },
      (later) => later !== askedAt,
    );
    expect(await budgetOf(other.contractId)).toMatchObject({ state: 'ok', notifiedState: null });
    expect(received()).toEqual(
      ['budget.low', 'budget.depleted', 'budget.ok'].map((notice) => ({ notice, contractId, isRepeat: false })),
    );
    const logged = job.log.lines().flatMap(({ notice, level }) => (level === 'warn' && notice ? [notice] : []));
    expect(logged).toEqual(['budget.low', 'budget.depleted']);
  });

  it('is announced if the work was done elsewhere, and only an event says so', async () => {
    const job = await openJob(dialect);
    const { customer, clock, work, received, budgetOf } = job;
    const { contractId } = await job.hire(10);
    clock.advance(60_000);
    const isKnown = async () => (await budgetOf(contractId))?.state;
    await until('it is known', isKnown, (state) => state === 'ok');
    const entries = [{ workDate: work.day, totalSeconds: 9 * 3600 }];
    clock.advance(1000);
    await customer.api('POST', `/contracts/${contractId}/usage`, { entries });
    await job.quiet();
    clock.advance(60_000);
    await until('the notices are there', received, (seen) => seen.length > 0);
    expect(received()).toEqual([{ notice: 'budget.low', contractId, isRepeat: false }]);
  });
});
