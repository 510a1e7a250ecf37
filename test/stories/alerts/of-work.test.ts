import { expect, it } from 'vitest';
import { openWork } from '../../support/alert-stories/of-work.ts';
import { hours, minutes } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

describeAnyDatabase('trouble with work', (openFresh) => {
  it('is announced when it is new, not on each run, and again after a day if it has grown', async () => {
    const { engine, workFor, report, alerting } = await openWork(openFresh);
    const announced = async () => {
      await alerting.ask();
      return await alerting.announced('usage_held');
    };
    expect(await workFor(90_000)).toMatchObject({ held: 1 });
    expect(await announced()).toEqual(['raised']);
    expect(await report()).toMatchObject({ held: 1 });
    engine.clock.advance(20 * hours);
    expect(await workFor(90_000, 'b')).toMatchObject({ held: 2 });
    expect(await announced()).toEqual(['raised']);
    engine.clock.advance(4 * hours);
    expect(await announced()).toEqual(['raised', 'raised']);
    engine.clock.advance(25 * hours);
    expect(await announced()).toEqual(['raised', 'raised']);
  });

  it('is announced again if it returns', async () => {
    const { engine, tool, read, report, workFor, alerting } = await openWork(openFresh);
    const lose = async () => {
      tool.erase('a');
      await read(true);
      return await report();
    };
    await workFor(3600);
    expect(await lose()).toMatchObject({ outcome: 'held', held: 1 });
    await alerting.ask();
    expect(await report()).toMatchObject({ outcome: 'held', held: 1 });
    engine.clock.advance(minutes);
    expect(await workFor(3600)).toMatchObject({ held: 0 });
    await alerting.ask();
    expect(await lose()).toMatchObject({ outcome: 'held', held: 1 });
    await alerting.ask();
    expect(await alerting.announced('usage_lowering')).toEqual(['raised', 'over', 'raised']);
  });
});
