import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MembershipRow } from '../../src/db/tables.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';
import { expectWanted, history, toBatches, toBody } from '../support/histories.ts';

describeEachDatabase('any order and any repetition of deliveries', (openFresh) => {
  it('ends in the same memberships', async () => {
    const engine = createEngine(await openFresh());
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(history, async ({ set, order, batches }) => {
        runs += 1;
        const run = `-${runs}`;
        // What comes again comes as another body, so that it is not merely a duplicate.
        const copies = order.map((index, copy) => ({ happened: set[index], copy }));
        for (const batch of toBatches(copies, batches)) {
          for (const install of ['acme', 'globex'] as const) {
            const bodies = batch.flatMap(({ happened, copy }) =>
              happened?.install === install ? [toBody(happened, run) + ' '.repeat(copy)] : [],
            );
            if (bodies.length > 0) await engine.deliver(bodies, install);
          }
          await engine.takeIn();
        }
        const rows = (await engine.membershipRows()).filter((row) => row.groupId.endsWith(run));
        const wanted = rows.flatMap((row) => (row.wanted === 1 ? [keyOf(row, run)] : []));
        expect(wanted.sort()).toEqual(expectWanted(set));
      }),
      { numRuns: 110 },
    );
    expect(runs).toBeGreaterThanOrEqual(100);
  }, 60_000);
});

function keyOf({ groupId, trainerId }: MembershipRow, run: string): string {
  return `${groupId}/${trainerId}`.replaceAll(run, '');
}
