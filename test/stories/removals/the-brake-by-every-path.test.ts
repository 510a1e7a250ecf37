import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { countedAfterMs } from '../../../src/domain/brake.ts';
import { type Evidence, emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { decidePlanItems } from '../../../src/removals/plan-store.ts';
import { type Engine, toEvidence } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createIncident, derivePostponed, hours, type Incident, minutes } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

/**
 * The brake by everything that leads to it: evidence comes in as events or by reads, all at once or
 * over a day, and what the tool is asked for is what counts.
 */

type Path = 'project_link.removed' | 'contract.ended' | 'read as ended';

const paths: Path[] = ['project_link.removed', 'contract.ended', 'read as ended'];

/** [how many are to go, of how many, how many do where it is at once, how many over a day] */
const cases: [number, number, number, number][] = [
  [1, 1, 1, 1],
  [2, 2, 0, 1],
  [3, 10, 3, 3],
  [4, 10, 0, 3],
];

describeAnyDatabase('the brake', (openFresh) => {
  for (const path of paths) {
    for (const [leaving, of, atOnce, overADay] of cases) {
      const isExempt = path === 'contract.ended';

      it(`by ${path}: of ${of}, ${leaving} at once`, async () => {
        const incident = createIncident(await openFresh());
        await employ(incident, of);
        await endAtOnce(incident, path, range(0, leaving));
        const gone = isExempt ? leaving : atOnce;
        expect(countIn(incident, of)).toBe(of - gone);
        // What is beyond the brake is held whole, not only the excess.
        expect(await incident.plans()).toEqual(gone === leaving ? [] : [leaving]);
        await incident.pass(72 * hours);
        expect(countIn(incident, of)).toBe(of - gone);
      });

      it(`by ${path}: of ${of}, ${leaving} over 24 hours`, async () => {
        const incident = createIncident(await openFresh());
        await employ(incident, of);
        await endOverADay(incident, path, range(0, leaving));
        const gone = isExempt ? leaving : overADay;
        expect(countIn(incident, of)).toBe(of - gone);
        expect(await incident.plans()).toEqual(gone === leaving ? [] : [1]);
      });
    }
  }

  it.each(paths)('by %s: of so many that a fraction of them is more, 25 and 26', async (path) => {
    const incident = createIncident(await openFresh());
    const isExempt = path === 'contract.ended';
    await employ(incident, 150);
    await endAtOnce(incident, path, range(0, 25));
    expect(countIn(incident, 150)).toBe(125);
    expect(await incident.plans()).toEqual([]);

    await incident.pass(25 * hours);
    await endAtOnce(incident, path, range(30, 56));
    expect(countIn(incident, 150)).toBe(125);
    expect(await incident.plans()).toEqual([26]);
    expect(await incident.alerts('removals_held')).toBe(1);
    await reject(incident.engine, 1);

    await incident.pass(25 * hours);
    await endOverADay(incident, path, range(60, 86));
    expect(countIn(incident, 150)).toBe(isExempt ? 99 : 100);
    expect(await incident.plans()).toEqual(isExempt ? [26] : [26, 1]);
  });

  it('counts all paths together', async () => {
    const incident = createIncident(await openFresh());
    await employ(incident, 10);
    await endAtOnce(incident, 'project_link.removed', [0, 1]);
    await endAtOnce(incident, 'read as ended', [2]);
    expect(countIn(incident, 10)).toBe(7);
    await endAtOnce(incident, 'read as ended', [3]);
    expect(countIn(incident, 10)).toBe(7);
    expect(await incident.plans()).toEqual([1]);
  });

  it('is per install', async () => {
    const incident = createIncident(await openFresh());
    await employ(incident, 10);
    await incident.event('contract.started', wishOf(20), 'globex');
    await endAtOnce(incident, 'project_link.removed', range(0, 10));
    await incident.take('project_link.removed', wishOf(20), 'globex');
    await incident.pass(15 * minutes);
    expect(countIn(incident, 10)).toBe(10);
    expect(incident.tool.members('p20')).toEqual([]);
  });

  it('does not count a trainer who was wanted again before the removal', async () => {
    const incident = createIncident(await openFresh());
    await employ(incident, 10);
    for (const round of [1, 2, 3, 4, 5]) {
      await incident.take('project_link.removed', wishOf(0, round - 1));
      await incident.engine.pass(15 * minutes);
      await incident.event('contract.started', wishOf(0, round));
    }
    await endAtOnce(incident, 'project_link.removed', [1, 2, 3]);
    expect(countIn(incident, 10)).toBe(7);
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Each in a project of their own, so that a link can go without the others. */
function wishOf(index: number, round = 0) {
  return {
    contract: `cmc${index}.${round}`,
    trainer: `cmu${index}`,
    link: `cml${index}.${round}`,
    project: `p${index}`,
  };
}

/** Members as they are after everything was added, without the calls for it. */
async function employ({ engine, tool }: Incident, count: number): Promise<void> {
  const createdAt = toInstant(engine.clock.now());
  for (let begin = 0; begin < count; begin += 100) {
    const some = range(begin, Math.min(begin + 100, count)).map((index) => {
      tool.seed(`p${index}`, `cmu${index}`);
      const wish = { ...wishOf(index), id: String(index), createdAt };
      return toEvidence(fullEvent({ type: 'contract.started', ...wish }), 'acme', createdAt);
    });
    await engine.merge(join(some));
  }
  await inTransaction(engine.database, (tx) =>
    tx
      .updateTable('membership')
      .set((eb) => ({ state: 'active', isOurs: true, nextAttemptAt: null, memberId: eb.ref('trainerId') }))
      .execute(),
  );
  engine.clock.advance(minutes);
  // The brake does not count who came in within the last hour.
  await inTransaction(engine.database, (tx) =>
    tx
      .insertInto('receipt')
      .columns(['membershipId', 'generation', 'operation', 'outcome', 'createdAt'])
      .expression(
        tx
          .selectFrom('membership')
          .select(['id', 'generation', sql.lit('add').as('o'), sql.lit('added').as('a')])
          .select(sql.lit(createdAt).as('at')),
      )
      .execute(),
  );
  engine.clock.advance(countedAfterMs);
}

function join(several: Evidence[]): Evidence {
  return {
    contracts: several.flatMap((one) => one.contracts),
    links: several.flatMap((one) => one.links),
    grants: several.flatMap((one) => one.grants),
    pairs: several.flatMap((one) => one.pairs),
    participations: several.flatMap((one) => one.participations),
    people: several.flatMap((one) => one.people),
  };
}

async function say({ engine }: Incident, path: Path, indexes: number[]): Promise<void> {
  const at = toInstant(engine.clock.now());
  const ended = (index: number): Evidence => ({
    ...emptyEvidence(),
    contracts: [{ ...emptyContract('acme', wishOf(index).contract), endedReadAt: at }],
  });
  const reported = (index: number) =>
    toEvidence(fullEvent({ type: path, ...wishOf(index), createdAt: at }), 'acme', at);
  await engine.merge(join(indexes.map(path === 'read as ended' ? ended : reported)));
  await derivePostponed(engine);
}

async function endAtOnce(incident: Incident, path: Path, indexes: number[]): Promise<void> {
  await say(incident, path, indexes);
  await incident.settle();
  await incident.pass(15 * minutes);
}

async function endOverADay(incident: Incident, path: Path, indexes: number[]): Promise<void> {
  for (const index of indexes) {
    await say(incident, path, [index]);
    await incident.pass((23 * hours) / indexes.length);
  }
  await incident.pass(15 * minutes);
}

function countIn({ tool }: Incident, of: number): number {
  return range(0, of).filter((index) => tool.members(`p${index}`).length > 0).length;
}

async function reject(engine: Engine, plan: number): Promise<void> {
  const now = toInstant(engine.clock.now());
  await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, plan, 'rejected', now));
}
