import { expect, it } from 'vitest';
import { emptyContract, emptyEvidence } from '../../src/domain/evidence.ts';
import { contractStatuses } from '../../src/domain/evidence-status.ts';
import { listContracts } from '../../src/operator/list-contracts.ts';
import { createEngine } from '../support/engine-harness.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const instants = [null, '2026-03-15T10:00:00.000Z', '2026-03-15T11:00:00.000Z'];
const registers = ['startedEventAt', 'endedEventAt', 'activeReadAt', 'endedReadAt', 'endedByOperatorAt'] as const;
const all = [...registers, 'reopenedAt'] as const;

/** Contracts of which each register says nothing, something early or something late. */
function everyContract() {
  return Array.from({ length: instants.length ** all.length }, (_, number) => {
    const said = all.map((register, place) => [register, instants[Math.floor(number / 3 ** place) % 3]]);
    return { ...emptyContract('acme', `cmc${number}`), ...Object.fromEntries(said) };
  });
}

describeAnyDatabase('the list of contracts', (openFresh) => {
  it('has by a status all contracts of that status, and no others', async () => {
    const engine = createEngine(await openFresh());
    await engine.merge({ ...emptyEvidence(), contracts: everyContract() });
    const listed = await listContracts(engine.database, { limit: 10_000 });
    expect(listed).toHaveLength(729);
    for (const status of contractStatuses) {
      const expected = listed.filter((one) => one.status === status);
      expect(expected).not.toEqual([]);
      expect(await listContracts(engine.database, { status, limit: 10_000 })).toEqual(expected);
    }
  });
});
