import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeCertificate } from '../../src/journal/certificate.ts';
import { emptyChain, type JournalRow, seal } from '../../src/journal/chain.ts';
import { createJournalStore } from '../../src/journal/journal-store.ts';
import { createSigningKey } from '../../src/journal/signing-key.ts';
import { verifyCertificate } from '../../src/journal/verify-certificate.ts';
import { convergeDue, hire, numberedEvent } from '../support/converging.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { tries } from '../support/tries.ts';

const key = createSigningKey(Buffer.alloc(32, 7));
const stranger = createSigningKey(Buffer.alloc(32, 8));

async function certify(rows: readonly JournalRow[], signer = key): Promise<string[]> {
  const journal = {
    positionAt: async () => rows.length,
    list: async (after: number, limit: number) => rows.slice(after, after + limit),
  };
  const head = { type: 'certificate', format: 1, ...period, madeAt: period.to, madeBy: 'olga' } as const;
  const lines: string[] = [];
  for await (const line of writeCertificate(journal, head, signer, () => undefined)) lines.push(line.trimEnd());
  return lines;
}

const period = { from: '2000-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

/** A chain as a forger makes it, who knows how it is made. */
function reseal(rows: readonly JournalRow[]): JournalRow[] {
  let head = emptyChain;
  return rows.map((row) => {
    const sealed = seal(head, row);
    head = sealed;
    return sealed;
  });
}

describe('an access certificate', () => {
  let rows: JournalRow[] | undefined;
  let lines: string[];

  beforeEach(async () => {
    // It is only read, so one is enough.
    if (rows !== undefined) return;
    const engine = createEngine(openForTest(await sqlite.createMigrated()));
    const tool = createMemoryTool();
    await hire(engine, 8);
    await convergeDue(engine, tool);
    await engine.apply([1, 2, 3].map((number) => numberedEvent('contract.ended', number)));
    await convergeDue(engine, tool);
    const journal = createJournalStore(engine.database);
    await journal.sealAll();
    rows = await journal.list(0, 10_000);
    lines = await certify(rows ?? []);
  });

  const rowLines = () => lines.flatMap((line, index) => (line.startsWith('{"type":"row"') ? [index] : []));

  it('is as it was signed, and says by whom', async () => {
    const verdict = await verifyCertificate(lines, key.publicKey);
    expect(verdict).toMatchObject({
      faults: [],
      rows: rows?.length,
      publicKey: key.publicKey,
      head: { madeBy: 'olga' },
    });
    expect(verdict.rows).toBeGreaterThan(40);
    expect(lines.filter((line) => line.startsWith('{"type":"access"')).length).toBeGreaterThan(0);
  });

  it('names the row that was flipped, dropped, moved or added', async () => {
    const tampering = fc.record({
      how: fc.constantFrom('flip', 'drop', 'swap', 'add'),
      at: fc.nat(1_000_000),
      offset: fc.nat(1_000_000),
    });
    await fc.assert(
      fc.asyncProperty(tampering, async ({ how, at, offset }) => {
        const standing = rowLines();
        const index = standing[at % standing.length] ?? 0;
        const other = standing[(at + 1) % standing.length] ?? 0;
        const line = lines[index] ?? '';
        const seq = JSON.parse(line).seq as number;
        const changed = {
          flip: () => lines.with(index, flip(line, offset)),
          drop: () => lines.toSpliced(index, 1),
          swap: () => lines.with(index, lines[other] ?? '').with(other, line),
          add: () => lines.toSpliced(index, 0, line.replace(`"seq":${seq}`, `"seq":${seq + (offset % 3) - 1}`)),
        }[how]();
        const { faults } = await verifyCertificate(changed, key.publicKey);
        const named = new RegExp(`\\brows? ${seq}\\b|^line ${index + 1}:|^line ${Math.min(index, other) + 1}:`);
        expect(faults.filter((fault) => named.test(fault)).length, `${how} of row ${seq}: ${faults}`).toBeGreaterThan(
          0,
        );
      }),
      { numRuns: tries(1000) },
    );
  });

  it('names the line of a statement that was changed or left out', async () => {
    const index = lines.findIndex((line) => line.startsWith('{"type":"access"'));
    const other = (lines[index] ?? '').replace('"trainer":"t', '"trainer":"x');
    expect((await verifyCertificate(lines.with(index, other))).faults).toContain(
      `line ${index + 1}: this does not follow from the rows`,
    );
    const { faults } = await verifyCertificate(lines.toSpliced(index, 1));
    expect(faults.length).toBeGreaterThan(0);
    expect(faults[0]).toMatch(/does not follow|are missing/);
  });

  it('is not believed where somebody else made the whole of it anew', async () => {
    const forged = await certify(reseal((rows ?? []).toSpliced(3, 1)), stranger);
    expect((await verifyCertificate(forged, key.publicKey)).faults).toEqual([
      `it was signed by another key: ${stranger.publicKey}`,
    ]);
    const end = lines.at(-1) ?? '';
    const { faults } = await verifyCertificate([...forged.slice(0, -1), end], key.publicKey);
    expect(faults[0]).toMatch(/it was signed with \d+ rows, and has \d+/);
  });

  it.each([
    ['nothing', () => []],
    ['no end', () => lines.slice(0, -1)],
    ['no head', () => lines.slice(1)],
    ['two heads', () => [lines[0] ?? '', ...lines]],
    ['something behind the end', () => [...lines, lines[1] ?? '']],
    ['a line that is no JSON', () => lines.toSpliced(2, 0, 'row')],
    [
      'a signature that is none',
      () => [...lines.slice(0, -1), (lines.at(-1) ?? '').replace(/"signature":"../, '"signature":"AA')],
    ],
    [
      'a key that is none',
      () => [...lines.slice(0, -1), (lines.at(-1) ?? '').replace(/"publicKey":"[^"]+"/, '"publicKey":"AAAA"')],
    ],
  ])('is not believed with %s', async (_, content) => {
    const { faults } = await verifyCertificate(content());
    expect(faults.length).toBeGreaterThan(0);
  });
});

/** Changes one character of a value, so that it is still JSON. */
function flip(line: string, offset: number): string {
  const row = JSON.parse(line) as Record<string, unknown>;
  const names = ['at', 'subject', 'key', 'fact', 'hash'].filter((name) => typeof row[name] === 'string');
  const name = names[offset % names.length] ?? 'at';
  const value = String(row[name]);
  const at = offset % value.length;
  const character = value[at] === 'a' ? 'b' : 'a';
  return JSON.stringify({ ...row, [name]: value.slice(0, at) + character + value.slice(at + 1) });
}
