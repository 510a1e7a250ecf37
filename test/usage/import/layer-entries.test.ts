import { describe, expect, it } from 'vitest';
import { type ImportedEntry, layerEntries } from '../../../src/usage/import/import-store.ts';

const none = { seconds: null, tasks: null, labels: null };

/** A line of an import that began to count at the minute of its id. */
function entry(importId: number, changes: Partial<ImportedEntry> = {}): ImportedEntry {
  const work = {
    install: 'acme',
    workedOnBy: 'contract' as const,
    workedOnId: 'c1',
    trainerId: 't1',
    day: '2026-03-14',
  };
  return { importId, ...work, ...none, isUndone: false, countedAt: `2026-03-15T12:0${importId}:00.000Z`, ...changes };
}

/** As `source seconds/tasks/labels`, with `back` for withdrawn work. */
function layered(...entries: ImportedEntry[]): string[] {
  return layerEntries(entries).map(({ source, counts: { seconds, tasks, labels }, isTakenBack }) =>
    [source, `${seconds}/${tasks}/${labels}`, ...(isTakenBack ? ['back'] : [])].join(' '),
  );
}

describe('entries of one trainer, work and day', () => {
  it('have each count from the latest import with it', () => {
    const all = [entry(1, { seconds: 10, labels: 1 }), entry(2, { seconds: 20, tasks: 2 }), entry(3, { tasks: 3 })];
    expect(layered(...all)).toEqual(['import:3 20/3/1']);
    expect(layered(...all.toReversed())).toEqual(['import:3 20/3/1']);
  });

  it('have the counts again that an undone import had replaced', () => {
    const all = [entry(1, { seconds: 10, tasks: 1 }), entry(2, { seconds: 20, isUndone: true })];
    expect(layered(...all)).toEqual(['import:1 10/1/null']);
  });

  it('have zeros for the counts that only undone imports had', () => {
    const all = [
      entry(1, { seconds: 10 }),
      entry(2, { seconds: 20, tasks: 2, isUndone: true }),
      entry(3, { seconds: 30, labels: 3, isUndone: true }),
    ];
    expect(layered(...all)).toEqual(['import:1 10/0/0', 'import:3 null/0/0 back']);
    expect(layered(...all.slice(1))).toEqual(['import:3 0/0/0 back']);
    expect(layered(...all.slice(0, 2))).toEqual(['import:1 10/0/null', 'import:2 null/0/null back']);
  });

  it('are from the import with the greater number if two began to count at the same time', () => {
    const countedAt = '2026-03-15T12:00:00.000Z';
    expect(layered(entry(2, { seconds: 20, countedAt }), entry(1, { seconds: 10, countedAt }))).toEqual([
      'import:2 20/null/null',
    ]);
  });

  it('are from the import that began to count last, whatever its number', () => {
    const early = entry(2, { seconds: 20, countedAt: '2026-03-15T11:00:00.000Z' });
    expect(layered(early, entry(1, { seconds: 10 }))).toEqual(['import:1 10/null/null']);
  });
});

it.each([
  ['another trainer', { trainerId: 't2' }],
  ['another day', { day: '2026-03-13' }],
  ['another contract', { workedOnId: 'c2' }],
  ['a project of the same id', { workedOnBy: 'project' }],
  ['another install', { install: 'globex' }],
] as const)('entries of %s are left alone', (_, changes) => {
  const all = [entry(1, { seconds: 10 }), entry(2, { seconds: 20, ...changes })];
  expect(layered(...all)).toEqual(['import:1 10/null/null', 'import:2 20/null/null']);
});
