import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { importGraph, importsOf, measureGraph } from './support/imports.ts';

/** Bottom first: a folder may import itself and what is below it, and none beside it. */
const layers: readonly (readonly string[])[] = [
  ['domain'],
  ['lib'],
  ['config', 'sandbox', 'sources/(port)', 'adapters/(port)'],
  // Migrations are written with the helpers of `db`, which runs them.
  ['db', 'sources/http', 'adapters/(tool)'],
  ['sources/(kind)'],
  ['keys'],
  // Only types, above every port, so that no port needs a second type of its own.
  ['context.ts'],
  ['jobs'],
  ['inbox', 'tools'],
  ['memberships', 'installs'],
  ['evidence', 'removals'],
  ['converge'],
  ['reconcile', 'guidelines'],
  ['subscription', 'usage/read'],
  ['usage/attribute'],
  ['usage/(due)'],
  ['notify'],
  ['budget', 'privacy', 'http/receiver'],
  ['operations'],
  ['http/console'],
  ['http/api'],
  ['app'],
  ['cli'],
  ['main.ts'],
];

/** What knows nothing of parts that are below it all the same. */
const knowsOnly: Record<string, readonly string[]> = {
  sandbox: ['domain', 'lib'],
  'sources/(port)': ['domain', 'lib'],
  'sources/http': ['sources/(port)', 'domain', 'lib'],
  'sources/(kind)': ['sources/(port)', 'sources/http', 'domain', 'lib'],
  'adapters/(port)': ['domain', 'lib'],
  'adapters/(tool)': ['adapters/(port)', 'domain', 'lib'],
  'http/receiver': ['inbox', 'domain', 'lib'],
};

/** What stays behind a port: only these may know it. */
const knownOnlyTo: Record<string, RegExp> = {
  'sources/http': /^src\/sources\//,
  'sources/(kind)': /^src\/(sources\/|installs\/install-registry\.ts$)/,
  // The product never leans on the marketplace that it is tried against.
  sandbox: /^src\/cli\/(commands\/sandbox\.ts$|(sandbox|try)-)/,
};

/** Third-party packages that stay behind one door. */
const onlyIn: Record<string, RegExp> = {
  kysely: /^src\/db\/|^migrations\/|-store\.ts$/,
  'better-sqlite3': /^src\/db\/(sqlite-database|checkpoint-thread|alive-lock)\.ts$/,
  pg: /^src\/db\/postgres-database\.ts$/,
  express: /^src\/(http|sandbox)\//,
  zod: /^src\/(config|operations)\/|-schema\.ts$|^src\/http\/api\/(serve-api|openapi-document|problem)\.ts$|^src\/adapters\/adapter\.ts$/,
  'zod-openapi': /^src\/http\/api\/openapi-document\.ts$/,
  pino: /^src\/lib\/logger\.ts$/,
  commander: /^src\/cli\//,
  '@modelcontextprotocol/sdk': /^src\/cli\/mcp-command\.ts$/,
  helmet: /^src\/http\/console\//,
  hono: /^src\/http\/console\//,
  idiomorph: /^src\/http\/console\//,
  'csv-parse': /^src\/lib\/read-csv\.ts$/,
  nodemailer: /^src\/notify\/send-mail\.ts$/,
  'p-retry': /^src\/lib\/retry\.ts$/,
};

/** Tables that several folders write, and why. */
const sharedTables: Record<string, readonly string[]> = {
  // What is wanted is decided in `memberships`; `converge` claims that, and settles what it found. Both
  // change a state in the transaction that decides it, and one by the other's hand would be no clearer.
  membership: ['converge', 'memberships'],
  // A change of what a trainer's due work follows from marks the trainer, and usage takes the mark away.
  usageStale: ['memberships', 'usage/(due)'],
};

/** What goes through columns of one kind in all tables: leases of the dead, the clock, what is sealed. */
const upkeep = /^src\/(db\/(alive-lock|cut-back-store)|keys\/rotate-key-store)\.ts$/;

const files = globSync('src/**/*.ts');

describe('architecture', () => {
  it('finds the source tree', () => {
    expect(files.length).toBeGreaterThan(5);
  });

  it('gives every folder a layer', () => {
    const known = new Set(layers.flat());
    expect([...new Set(files.map(layerOf))].filter((folder) => !known.has(folder))).toEqual([]);
  });

  it('writes each table in one folder', () => {
    const writers = Object.groupBy(
      files.flatMap((file) => tablesWrittenIn(file).map((table) => ({ table, folder: layerOf(file) }))),
      ({ table }) => table,
    );
    const shared = Object.entries(writers).flatMap(([table, all = []]) => {
      const folders = [...new Set(all.map(({ folder }) => folder))].sort();
      return folders.length === 1 || folders.join() === sharedTables[table]?.join() ? [] : [{ table, folders }];
    });
    expect(Object.keys(writers).length).toBeGreaterThan(50);
    expect(shared).toEqual([]);
  });

  it('has no circle of imports', () => {
    expect(measureGraph(importGraph(files)).circles[0]).toBeUndefined();
  });

  it('has no page that asks a store: each asks an operation', () => {
    const pages = files.filter((file) => /^src\/http\/console\/(pages|view)\//.test(file));
    expect(pages.length).toBeGreaterThan(7);
    const asking = pages.flatMap((file) => importsOf(file).filter((target) => target.endsWith('-store.ts')));
    expect(asking).toEqual([]);
  });

  it.each(files)('%s keeps to its layer', (file) => {
    expect(importsOf(file).filter((target) => !mayImport(file, target))).toEqual([]);
  });
});

function mayImport(file: string, target: string): boolean {
  if (target.startsWith('migrations/')) return file.startsWith('src/db/');
  if (!target.startsWith('src/')) return onlyIn[packageOf(target)]?.test(file) !== false;
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to) return kindOf(file) === kindOf(target) || isListOfAdapters(file);
  if (knownOnlyTo[to]?.test(file) === false) return false;
  const isBelow = levelOf(to) < levelOf(from);
  return isListOfAdapters(file) || (isBelow && knowsOnly[from]?.includes(to) !== false);
}

/** In camel case, whether it is written by Kysely, by hand, or as a table of evidence. */
function tablesWrittenIn(file: string): string[] {
  if (upkeep.test(file)) return [];
  const text = readFileSync(file, 'utf8');
  const built = /(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*(?:tx,\s*)?'(\w+)'/g;
  const byHand = /(?:insert into|delete from|update(?! set\b)) ([a-z_]+)\s/g;
  return [
    ...[...text.matchAll(built)].map(([, table = '']) => table),
    ...[...text.matchAll(byHand)].map(([, table = '']) => table.replace(/_(.)/g, (_, letter) => letter.toUpperCase())),
  ];
}

function levelOf(layer: string): number {
  return layers.findIndex((folders) => folders.includes(layer));
}

function layerOf(file: string): string {
  const [, top = '', next = ''] = file.split('/');
  if (top === 'http') return `http/${next}`;
  if (top === 'usage') return layerOfUsage(next);
  if (top === 'adapters') return kindOf(file) === undefined ? 'adapters/(port)' : 'adapters/(tool)';
  if (top === 'sources' && next !== 'http') return kindOf(file) === undefined ? 'sources/(port)' : 'sources/(kind)';
  if (top === 'sources') return 'sources/http';
  return top;
}

/** Imports are due as readings are. What is due is planned against the ledger, and an import is previewed by that plan. */
function layerOfUsage(folder: string): string {
  return ['import', 'due', 'report'].includes(folder) ? 'usage/(due)' : `usage/${folder}`;
}

/** Adapters of two tools are strangers to each other, and so are sources of two kinds. */
function kindOf(file: string): string | undefined {
  return /^src\/(?:adapters\/(?!conformance\/)|sources\/(?!http\/))([^/]+)\//.exec(file)?.[1];
}

/** The list of what is built in names every adapter. */
function isListOfAdapters(file: string): boolean {
  return /^src\/adapters\/load-adapters\.ts$/.test(file);
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
