import { expect, it } from 'vitest';
import { type ContractRegisters, statusOfContract } from '../../src/domain/evidence-status.ts';
import { mayBeOpen } from '../../src/evidence/contract-store.ts';
import { describeEachDatabase } from '../support/databases.ts';

/** The last is more than ten minutes after the one before it. */
const times = [null, '2026-11-26T10:00:00.000Z', '2026-11-26T12:00:00.000Z'];
const registers = [
  'startedEventAt',
  'endedEventAt',
  'activeReadAt',
  'endedReadAt',
  'endedByOperatorAt',
  'reopenedAt',
] as const;

function everyContract(): (ContractRegisters & { contractId: string })[] {
  const each = Array.from({ length: times.length ** registers.length }, (_, number) => {
    const values = registers.map((name, place) => [name, times[Math.floor(number / 3 ** place) % 3]] as const);
    return { contractId: `${number}`, ...Object.fromEntries(values) };
  });
  return each as (ContractRegisters & { contractId: string })[];
}

describeEachDatabase('contracts that may be open', (openFresh) => {
  it('are all active or disputed contracts, and no ended one without later evidence', async () => {
    const { kysely } = await openFresh();
    const all = everyContract();
    await kysely
      .insertInto('contract')
      .values(all.map((one) => ({ install: 'acme', ...one })))
      .execute();
    const rows = await kysely.selectFrom('contract').select('contractId').where(mayBeOpen()).execute();
    const found = new Set(rows.map(({ contractId }) => contractId));
    const missing = all.filter((one) => !found.has(one.contractId));
    expect(missing.filter((one) => ['active', 'disputed'].includes(statusOfContract(one)))).toEqual([]);
    const over = all.filter(
      ({ endedReadAt, endedEventAt, activeReadAt, reopenedAt }) =>
        endedReadAt !== null || (endedEventAt !== null && activeReadAt === null && reopenedAt === null),
    );
    expect(over.length).toBeGreaterThan(243);
    expect(over.filter(({ contractId }) => found.has(contractId))).toEqual([]);
  });
});
