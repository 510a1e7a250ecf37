import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ImportPreview } from '../../../src/usage/import/import-file.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { dayBack, openImportWorld } from '../../usage/import/import-harness.ts';

const header = 'workDate,contractId,externalProjectId,opentrainUserId,workEmail,totalSeconds,tasksCompleted';

/** The rest of a line after its day, and its fault. */
const wrong: [line: string, fault: string][] = [
  ['cmcX,,,,60,', 'there is no such contract'],
  ['cmc9,,,,60,', 'no trainer is known to be on the contract'],
  ['cmc2,,,,60,', 'several trainers are on the contract: name one by opentrainUserId'],
  ['cmc2,,cmu1,,60,', 'opentrainUserId is not on the contract'],
  ['cmc1,,cmuX,,60,', 'opentrainUserId is not on the contract'],
  [',nowhere,cmu1,,60,', 'there is no such project'],
  [',lamps,cmu1,,60,', 'opentrainUserId is not on the project'],
  [',lamps,,x@opentrain.work,60,', 'no trainer is known by this workEmail'],
  [',lamps,,cmu1@opentrain.work,60,', 'the trainer with this workEmail is not on the project'],
  ['cmc1,,,,-1,', 'totalSeconds is negative'],
  ['cmc1,,,,60', 'has 6 columns, but the header has 7'],
  ['"cmc1,,,,60,', 'has invalid quotes'],
];

const right = ['cmc1,,,,60,', 'cmc2,,cmu3,,,7', ',lamps,,cmu2@opentrain.work,60,0', '"cmc1",,,,5,5'];

describeAnyDatabase('a file with faults', (openFresh) => {
  it('shows each wrong line and its fault', async () => {
    const world = await openImportWorld(openFresh);
    const { id, preview } = await world.prepare(
      wrong.map(([rest]) => `2026-03-13,${rest}`),
      { header },
    );
    expect(id).toBeNull();
    expect(refusedIn(preview)).toEqual(wrong.map(([, fault], index) => `${index + 2} ${fault}`));
    expect(preview.outcomes.refused.lines).toBe(wrong.length);
  });

  it('is refused if several people on the project have the address', async () => {
    const world = await openImportWorld(openFresh);
    const { database } = world.engine;
    const { workEmailDigest } = await database.kysely
      .selectFrom('person')
      .select('workEmailDigest')
      .where('trainerId', '=', 'cmu2')
      .executeTakeFirstOrThrow();
    await database.kysely.updateTable('person').set({ workEmailDigest }).execute();
    const fault = 'several trainers on the project have this workEmail: name one by opentrainUserId';
    const line = '2026-03-13,,lamps,,cmu2@opentrain.work,60,';
    const { preview } = await world.prepare([line], { header });
    expect(refusedIn(preview)).toEqual([`2 ${fault}`]);
    // On the other project there is only one of them.
    const other = '2026-03-13,,street-signs,,cmu2@opentrain.work,60,';
    expect(await world.prepare([other], { header })).toMatchObject({ id: 2 });
  });

  it('is refused at the later of two lines with the same person and day, however far apart', async () => {
    const world = await openImportWorld(openFresh);
    const lines = Array.from({ length: 600 }, (_, back) => `${dayBack(back)},cmc1,60`);
    const { preview } = await world.prepare([...lines, lines[0] ?? '', '', `${lines[599]}0`]);
    expect(refusedIn(preview)).toEqual([
      '602 has the same person and day as line 2',
      '604 has the same person and day as line 601',
    ]);
  });

  it('shows the first faults, and how many there are', async () => {
    const world = await openImportWorld(openFresh);
    const lines = Array.from({ length: 1234 }, () => 'never,cmc1,60');
    const { preview } = await world.prepare(lines, { listAtMost: 100 });
    expect(preview.outcomes.refused.lines).toBe(1234);
    expect(preview.listed.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, index) => index + 2));
  });

  it('is refused if it is empty', async () => {
    const world = await openImportWorld(openFresh);
    for (const options of [{}, { header: '' }]) {
      const { preview } = await world.prepare([], options);
      expect(refusedIn(preview)).toEqual(['1 the file has no work in it']);
    }
  });

  it('shows exactly the wrong lines, whatever the mixture', async () => {
    const world = await openImportWorld(openFresh);
    const line = fc.oneof(
      fc.constantFrom(...right).map((rest) => ({ kind: 'right', rest })),
      fc.constantFrom(...wrong).map(([rest]) => ({ kind: 'wrong', rest })),
      fc.constantFrom({ kind: 'again', rest: '' }, { kind: 'empty', rest: '' }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 60 }), async (drawn) => {
        const { lines, expected } = toFile(drawn);
        const { listed } = (await world.prepare(lines, { header })).preview;
        const refused = listed.flatMap(({ outcome, line: at }) => (outcome === 'refused' ? [at] : []));
        expect(refused).toEqual(lines.join('') === '' ? [1] : expected);
      }),
      { numRuns: 25 },
    );
  });
});

function refusedIn({ listed }: ImportPreview): string[] {
  return listed.map(({ line, reason }) => `${line} ${reason}`);
}

interface Drawn {
  kind: string;
  rest: string;
}

/** Each line has its own day, except those that repeat the last valid one. */
function toFile(drawn: readonly Drawn[]): { lines: string[]; expected: number[] } {
  const days = drawn.map((_, index) => new Date(Date.UTC(2026, 0, index + 1)).toISOString());
  const own = drawn.map(({ rest }, index) => `${days[index]?.slice(0, 10)},${rest}`);
  const before = drawn.map((_, index) => {
    const last = drawn.findLastIndex(({ kind }, at) => at < index && kind === 'right');
    return own[last] ?? '';
  });
  const lines = drawn.map(({ kind }, index) => {
    if (kind === 'empty') return '';
    return (kind === 'again' ? before[index] : own[index]) ?? '';
  });
  const isWrong = ({ kind }: Drawn, index: number) => kind === 'wrong' || (kind === 'again' && lines[index] !== '');
  return { lines, expected: drawn.flatMap((one, at) => (isWrong(one, at) ? [at + 2] : [])) };
}
