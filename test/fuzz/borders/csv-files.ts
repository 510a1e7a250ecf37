import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AppError } from '../../../src/domain/errors.ts';
import { readCsv } from '../../../src/lib/read-csv.ts';
import { type ImportFormat, type ReadEntry, readEntries } from '../../../src/usage/import/read-entries.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

const today = '2026-03-16';
const address = 'amara.o@opentrain.work';

const csv = [
  'workDate,contractId,workEmail,totalSeconds,tasksCompleted\r\n2026-03-15,cmc1,,3600,12\r\n2026-03-15,cmc2,,60,1\r\n',
  `\ufeffworkDate;externalProjectId;workEmail;labelsCompleted\n2026-03-15;"street ""signs""";${address};7\n\n`,
  `workDate,externalProjectId,opentrainUserId,totalSeconds\n2026-03-14,"a,b",cmu1,86400\n2026-03-15,x,cmu2,0`,
];

const ndjson = [
  `{"workDate":"2026-03-15","contractId":"cmc1","totalSeconds":3600}\n{"workDate":"2026-03-14","contractId":"c"}\n`,
  `{"workDate":"2026-03-15","externalProjectId":"x","workEmail":"${address}","labelsCompleted":7,"tasksCompleted":null}`,
];

export const importedWork: Target = {
  name: 'imported work',
  inputs: { long: 70_000, short: 500 },
  reaches: ['csv: entries', 'csv: faults', 'ndjson: entries', 'ndjson: faults'],
  open: () => ({ judge: judgeImport }),
};

async function judgeImport(chance: Mutator): Promise<string> {
  const format: ImportFormat = chance.pick(['csv', 'ndjson']);
  const valid = Buffer.from(chance.pick(format === 'csv' ? csv : ndjson));
  const bytes = chance.oneIn(2) ? chance.bytes(valid) : Buffer.from(chance.text(valid.toString()));
  const entries = await readWhole(bytes, format, bytes.length + 1);
  // The result must not depend on where the network splits the file.
  assert.deepEqual(await readWhole(bytes, format, 1 + chance.below(40)), entries);
  for (const read of entries) checkEntry(read);
  const isGood = entries.length > 0 && entries.every((read) => 'entry' in read);
  return `${format}: ${isGood ? 'entries' : 'faults'}`;
}

async function readWhole(bytes: Buffer, format: ImportFormat, size: number): Promise<ReadEntry[]> {
  return (await Array.fromAsync(readEntries(toChunks(bytes, size), format, today))).flat();
}

async function* toChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

function checkEntry(read: ReadEntry): void {
  if ('fault' in read) {
    assert.ok(!read.fault.includes(address), `a fault quotes an address: ${read.fault}`);
    assert.ok(read.fault.length < 2000);
    return;
  }
  const { day, workedOn, person, counts } = read.entry;
  assert.match(day, /^\d{4}-\d\d-\d\d$/);
  assert.ok(day <= today);
  for (const id of [workedOn.id, ...Object.values(person ?? {})]) {
    assert.ok(typeof id === 'string' && id !== '' && id.length <= 320 && id.isWellFormed());
  }
  assert.ok(workedOn.by === 'contract' || person !== null);
  const given = Object.values(counts).filter((count) => count !== null);
  assert.ok(given.length > 0 && given.every((count) => Number.isSafeInteger(count) && count >= 0));
}

export const csvAnswers: Target = {
  name: 'CSV of tools',
  inputs: { long: 30_000, short: 333 },
  reaches: ['read', 'read as it was written', 'refused'],
  open: () => ({ judge: judgeCsv }),
};

const options = { purpose: 'read the file', columns: ['name', 'count'], maxLineBytes: 1000 };

async function judgeCsv(chance: Mutator): Promise<string> {
  const rows = Array.from({ length: 1 + chance.below(3) }, () => [chance.text('Zoë'), chance.text('17'), 'x']);
  const lines = [['name', 'count', '__proto__'], ...rows].map((fields) => fields.map(quote).join(','));
  const written = Buffer.from(`${lines.join('\r\n')}\r\n`);
  const isChanged = chance.oneIn(2);
  const bytes = isChanged ? chance.bytes(written) : written;
  try {
    const read = await Array.fromAsync(readCsv(toChunks(bytes, 1 + chance.below(100)), options));
    for (const line of read) assert.ok(options.columns.every((column) => typeof line.get(column) === 'string'));
    if (isChanged) return 'read';
    const wellFormed = rows.map((row) => row.map((field) => field.toWellFormed()));
    assert.deepEqual(
      read.map((line) => [...line.values()]),
      wellFormed,
    );
    return 'read as it was written';
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid', inspect(error));
    assert.doesNotMatch(inspect(error, { depth: 9 }), /Zoë|opentrain\.work/);
    assert.ok(isChanged || bytes.length > options.maxLineBytes, error.message);
    return 'refused';
  }
}

/** Quotes as RFC 4180 requires. */
function quote(field: string): string {
  return `"${field.replaceAll('"', '""')}"`;
}
