import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { listAccessHistory } from '../../../src/memberships/access-history-store.ts';
import { wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { openJourney } from '../../support/journey.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const group = 'street-signs';
const minuteMs = 60_000;

describeAnyDialect('a tool changed by hand', (dialect) => {
  it('is corrected after its install was read: missing members are added, and returned ones are removed', async () => {
    const tool = createMemoryTool('membership', { lists: true });
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    const { sandbox, customer, storage } = journey;
    await customer.link(group);
    const stays = sandbox.hire({ jobId: customer.jobId, trainers: [{}, {}] });
    const leaves = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    sandbox.endContract(leaves.contractId);
    await journey.quiet();
    const ids = stays.trainers.map(({ opentrainUserId }) => opentrainUserId).sort();
    expect(tool.members(group)).toEqual(ids);

    const [gone = ''] = ids;
    const [returned] = leaves.trainers;
    if (returned === undefined) throw new Error('no trainer was hired');
    tool.unseat(group, gone);
    tool.seed(group, returned.opentrainUserId, returned.workEmail);
    tool.seed(group, 'boss', 'boss@lab.example');
    await journey.pass(minuteMs);
    const now = journey.clock.now().toISOString();
    await inTransaction(storage.database, (tx) => wantRead(tx, ['acme'], now));

    const look = async () => tool.members(group).includes(gone);
    await until('who was missing is back', look, (isBack) => isBack);
    expect(tool.members(group)).toContain(returned.opentrainUserId);
    await journey.pass(16 * minuteMs);
    await until('who came back is out', () => Promise.resolve(tool.members(group)), isRight);
    await journey.quiet();
    expect(await journey.receipts()).toEqual([
      'add added',
      'add added',
      'add added',
      'remove removed',
      'remove already_member',
      'add added',
      'remove removed',
    ]);
    const period = { from: '', to: journey.clock.now().toISOString() };
    const accesses = await listAccessHistory(storage.database.kysely, period, { limit: 100 });
    const of = (id: string) =>
      accesses.filter(({ trainerId }) => trainerId === id).map(({ until: end }) => end !== null);
    expect([of(gone), of(returned.opentrainUserId)]).toEqual([
      [true, false],
      [true, true],
    ]);

    function isRight(members: string[]): boolean {
      return members.join() === ['boss', ...ids].sort().join();
    }
  });
});
