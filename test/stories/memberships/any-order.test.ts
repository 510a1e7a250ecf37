import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MembershipRow } from '../../../src/db/tables.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { expectWanted, type History, history, toBatches, toBody } from '../../support/histories.ts';
import { describeAnyDatabase, tries } from '../../support/tries.ts';

/** So many that know nothing of each other share a database at a time. */
const together = 25;
const batches = tries(20);

describeAnyDatabase('any order and any repetition of deliveries', (openFresh) => {
  it('ends in the same memberships', async () => {
    const engine = createEngine(await openFresh());
    let runs = 0;
    const several = fc.array(history, { minLength: together, maxLength: together });
    await fc.assert(
      fc.asyncProperty(several, async (histories) => {
        const named = histories.map((one, index) => ({ ...one, run: `-${runs + index}` }));
        runs += histories.length;
        await deliverAll(engine, named);
        const rows = Map.groupBy(await engine.membershipRows(), ({ groupId }) => runOf(groupId));
        for (const { set, run } of named) {
          const wanted = (rows.get(run) ?? []).filter((row) => row.wanted === 1);
          // Installs that know different addresses have a membership each.
          const seats = new Set(wanted.map((row) => keyOf(row, run)));
          expect([...seats].sort()).toEqual(expectWanted(set));
        }
      }),
      { numRuns: batches },
    );
    expect(runs).toBeGreaterThanOrEqual(tries(500));
  });
});

async function deliverAll(engine: Engine, histories: (History & { run: string })[]): Promise<void> {
  // What comes again comes as another body, so that it is not merely a duplicate.
  const lines = histories.map(({ set, order, batches: sizes, run }) =>
    toBatches(
      order.map((index, copy) => ({ happened: set[index], copy, run })),
      sizes,
    ),
  );
  for (let round = 0; lines.some((line) => line.length > round); round += 1) {
    const batch = lines.flatMap((line) => line[round] ?? []);
    for (const install of ['acme', 'globex'] as const) {
      const bodies = batch.flatMap(({ happened, copy, run }) =>
        happened?.install === install ? [toBody(happened, run) + ' '.repeat(copy)] : [],
      );
      if (bodies.length > 0) await engine.deliver(bodies, install);
    }
    await engine.takeIn();
  }
}

function runOf(groupId: string): string {
  return groupId.slice(groupId.lastIndexOf('-'));
}

function keyOf({ groupId, trainerId }: MembershipRow, run: string): string {
  return `${groupId}/${trainerId}`.replaceAll(run, '');
}
