import { expect, it } from 'vitest';
import { emptyContract, emptyEvidence } from '../../src/domain/evidence.ts';
import { contractStatuses } from '../../src/domain/evidence-status.ts';
import type { ContractPosition } from '../../src/evidence/contract-store.ts';
import { listContracts } from '../../src/operations/contracts.ts';
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
  it('has all contracts of a status, and no others', async () => {
    const engine = createEngine(await openFresh());
    await engine.merge({ ...emptyEvidence(), contracts: everyContract() });
    const listed = await listContracts(engine, { limit: 10_000 });
    expect(listed).toHaveLength(729);
    for (const status of contractStatuses) {
      const expected = listed.filter((one) => one.status === status);
      expect(expected).not.toEqual([]);
      expect(await listContracts(engine, { status, limit: 10_000 })).toEqual(expected);
    }
  });

  it('is ordered by what is left of the budget, also across pages of equal budgets', async () => {
    const engine = createEngine(await openFresh());
    const { kysely } = engine.database;
    const ids = ['none', 'half', 'third', 'other-third', 'used-up', 'unread', 'over'];
    const keys = ids.flatMap((contractId) => ['acme', 'beta'].map((install) => ({ install, contractId })));
    const contracts = keys.map(({ install, contractId }) => ({
      ...emptyContract(install, contractId),
      activeReadAt: instants[1] ?? null,
    }));
    await engine.merge({ ...emptyEvidence(), contracts });
    const used: Record<string, number | null> = {
      half: 0.5,
      third: 1 / 3,
      'other-third': 1 / 3,
      'used-up': 1,
      over: 0.9,
    };
    const budgets = keys
      .filter(({ contractId }) => contractId !== 'none')
      .map(({ install, contractId }) => ({
        install,
        contractId,
        consumedFraction: used[contractId] ?? null,
        // The budget of a contract that has ended is not read any more.
        isWatched: contractId !== 'over',
      }));
    await kysely.insertInto('budget').values(budgets).execute();
    const expected = [
      'acme used-up',
      'beta used-up',
      'acme half',
      'beta half',
      'acme other-third',
      'acme third',
      'beta other-third',
      'beta third',
      'acme none',
      'acme over',
      'acme unread',
      'beta none',
      'beta over',
      'beta unread',
    ];
    for (const limit of [1, 3, 4, 20]) {
      const found: string[] = [];
      for (let after: ContractPosition | undefined; ; ) {
        const page = await listContracts(engine, { after, limit });
        found.push(...page.map(({ install, contractId }) => `${install} ${contractId}`));
        after = page.at(-1);
        if (after === undefined) break;
      }
      expect(found).toEqual(expected);
    }
  });
});
