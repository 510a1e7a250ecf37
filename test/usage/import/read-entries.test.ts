import { describe, expect, it } from 'vitest';
import { type ImportFormat, readEntries, toTemplate } from '../../../src/usage/import/read-entries.ts';

const today = '2026-03-15';

async function read(text: string, format: ImportFormat = 'csv') {
  async function* chunks() {
    yield Buffer.from(text);
  }
  return (await Array.fromAsync(readEntries(chunks(), format, today))).flat();
}

/** The fault of a line. */
async function faultOf(line: string, header = 'workDate,contractId,totalSeconds') {
  const [first] = await read(`${header}\n${line}\n`);
  return first !== undefined && 'fault' in first ? first.fault : undefined;
}

const entry = {
  workedOn: { by: 'contract', id: 'cmc1' },
  person: null,
  day: '2026-03-14',
  counts: { seconds: 60, tasks: null, labels: null },
};

describe('a CSV file of work', () => {
  it('is read with a byte order mark, Windows line ends, quotes, spaces and empty lines', async () => {
    const text = '\ufeff"workDate", contractId ,totalSeconds\r\n\r\n"2026-03-14",  "cmc1",60\r\n2026-03-14,cmc1,"60"';
    // In CSV, a quote after a space is an ordinary character.
    expect(await read(text)).toEqual([
      { line: 3, fault: 'has invalid quotes' },
      { line: 4, entry },
    ]);
  });

  it('may have empty rows of a spreadsheet, of commas alone, for which it once was refused', async () => {
    const text = ',,\nworkDate,contractId,totalSeconds\n2026-03-14,cmc1,60\n,,\n , ,\r\n,,,,\n';
    expect(await read(text)).toEqual([{ line: 3, entry }]);
  });

  it('is read with semicolons', async () => {
    expect(await read('workDate;contractId;totalSeconds\n2026-03-14;"cm;c""1";60\n')).toEqual([
      { line: 2, entry: { ...entry, workedOn: { by: 'contract', id: 'cm;c"1' } } },
    ]);
  });

  it('may leave out counts, which then are unknown', async () => {
    const header = 'workDate,externalProjectId,workEmail,totalSeconds,tasksCompleted,labelsCompleted';
    expect(await read(`${header}\n2026-03-14,street-signs,a@b.example,,0,\n`)).toEqual([
      {
        line: 2,
        entry: {
          workedOn: { by: 'project', id: 'street-signs' },
          person: { workEmail: 'a@b.example' },
          day: '2026-03-14',
          counts: { seconds: null, tasks: 0, labels: null },
        },
      },
    ]);
  });

  it.each([
    ['', 'workDate is missing'],
    ['14.03.2026', 'workDate is not a day like 2026-03-15'],
    ['2026-02-30', 'workDate is not a day like 2026-03-15'],
    ['2026-13-01', 'workDate is not a day like 2026-03-15'],
    ['2026-03-16', 'workDate is in the future'],
    ['2026-03-15', undefined],
  ])('has the day "%s": %s', async (day, fault) => {
    expect(await faultOf(`${day},cmc1,60`)).toBe(fault);
  });

  it.each([
    ['', 'none of totalSeconds, tasksCompleted, labelsCompleted is given'],
    ['-1', 'totalSeconds is negative'],
    ['86401', 'totalSeconds is more than 86400'],
    ['86400', undefined],
    ['0', undefined],
    ['1.5', 'totalSeconds is not a whole number'],
    ['1e3', 'totalSeconds is not a whole number'],
    ['99999999999999999999', 'totalSeconds is not a whole number'],
  ])('has the seconds "%s": %s', async (seconds, fault) => {
    expect(await faultOf(`2026-03-14,cmc1,${seconds}`)).toBe(fault);
  });

  it.each([
    [',,a@b.example,', 'contractId or externalProjectId is missing'],
    ['cmc1,signs,,cmu1', 'contractId and externalProjectId are both given: name one'],
    [',signs,,', 'externalProjectId needs opentrainUserId or workEmail'],
    ['cmc1,,a@b.example,cmu1', 'opentrainUserId and workEmail are both given: name one'],
    ['c\u0000,,,', 'contractId is not text of up to 320 characters'],
    ['cmc1,,a@b.example,', undefined],
  ])('names who by "%s": %s', async (who, fault) => {
    const header = 'workDate,contractId,externalProjectId,workEmail,opentrainUserId,tasksCompleted';
    expect(await faultOf(`2026-03-14,${who},1`, header)).toBe(fault);
  });

  it('names every fault of a line at once', async () => {
    expect(await faultOf('2027-01-01,,-1')).toBe(
      'workDate is in the future; contractId or externalProjectId is missing; totalSeconds is negative',
    );
  });

  it.each([
    ['workDate,contractId', 'no totalSeconds and no tasksCompleted and no labelsCompleted'],
    ['contractId,totalSeconds', 'no workDate'],
    ['workDate,totalSeconds', 'no contractId and no externalProjectId'],
    ['workDate,contractId,totalSeconds,totalSeconds', 'totalSeconds twice'],
    ['workDate,contractId,seconds', '"seconds" is not one of workDate, contractId'],
    ['2026-03-14,amara@opentrain.work,60', '"2026-03-14" is not one of'],
    ['amara@opentrain.work,60', 'column 1 is not one of'],
  ])('is refused for its header %s', async (header, fault) => {
    const all = await read(`${header}\n2026-03-14,cmc1,60\n`);
    expect(all).toEqual([{ line: 1, fault: expect.stringContaining(fault) as string }]);
    expect(JSON.stringify(all)).not.toContain('amara');
  });

  it('is refused if it is not text', async () => {
    const text = Buffer.from('workDate,contractId,totalSeconds\n', 'utf16le').toString('latin1');
    expect(await read(`\u00ff\u00fe${text}`)).toHaveLength(1);
  });
});

describe('an NDJSON file of work', () => {
  const readJson = (...objects: unknown[]) =>
    read(objects.map((object) => JSON.stringify(object)).join('\r\n'), 'ndjson');

  it('is read by JSON values, where null means absent', async () => {
    const work = { workDate: '2026-03-14', contractId: 'cmc1', totalSeconds: 60 };
    expect(await readJson(work, { ...work, tasksCompleted: null, workEmail: null })).toEqual([
      { line: 1, entry },
      { line: 2, entry },
    ]);
  });

  it.each([
    [{ totalSeconds: '60' }, 'totalSeconds is not a whole number'],
    [{ totalSeconds: 1.5 }, 'totalSeconds is not a whole number'],
    [{ contractId: 7 }, 'contractId is not text of up to 320 characters'],
    [{ contractId: '' }, 'contractId is not text of up to 320 characters'],
    [{ workDate: 20_260_314 }, 'workDate is not a day like 2026-03-15'],
    [{ seconds: 60 }, '"seconds" is not one of workDate, contractId'],
    [{ 'amara@opentrain.work': 60 }, 'one of its names is not one of'],
  ])('is refused for %j', async (change, fault) => {
    const work = { workDate: '2026-03-14', contractId: 'cmc1', totalSeconds: 60, ...change };
    const [first] = await readJson(work);
    expect(first).toEqual({ line: 1, fault: expect.stringContaining(fault) as string });
    expect(JSON.stringify(first)).not.toContain('amara');
  });

  it.each(['[]', 'null', '{"workDate":', 'text'])('is refused for the line %s', async (line) => {
    expect(await read(line, 'ndjson')).toEqual([{ line: 1, fault: 'is not a JSON object' }]);
  });
});

it.each(['csv', 'ndjson'] as const)('reads its own template as %s', async (format) => {
  const all = await read(toTemplate(format), format);
  expect(all).toHaveLength(2);
  expect(all.filter((one) => 'fault' in one)).toEqual([]);
});
