import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { importGraph, importsOf, measureGraph } from './support/imports.ts';

/**
 * The floors, lowest first. A folder imports itself, the folders of lower floors, and those that come before it on its
 * own floor.
 */
const floors: readonly (readonly string[])[] = [
  ['domain', 'lib'],
  // Migrations are written with the helpers of `db`, which runs them.
  ['config', 'db', 'keys'],
  // The context has only types, above every port, so that no port needs a second type of its own.
  ['marketplace', 'sandbox', 'adapters', 'context.ts', 'jobs'],
  ['inbox', 'tools'],
  ['memberships', 'evidence'],
  ['removals', 'converge'],
  ['installs', 'reconcile', 'subscription', 'guidelines', 'hires', 'manuals', 'usage', 'notify', 'budget', 'privacy'],
  ['operations'],
  ['http', 'app', 'cli', 'main.ts'],
];

/** What knows less than its floor allows. */
const knowsOnly: Record<string, readonly string[]> = {
  sandbox: ['domain', 'lib', 'marketplace'],
  marketplace: ['domain', 'lib'],
  adapters: ['domain', 'lib'],
};

/** What only some files may import. */
const knownOnlyTo: readonly { target: RegExp; importer: RegExp }[] = [
  {
    target: /^src\/marketplace\/(platform|employer)\//,
    importer: /^src\/(marketplace\/|installs\/install-registry\.ts$)/,
  },
  // The sandbox shares the contract with the program, and nothing else, so that both cannot make the same mistake.
  { target: /^src\/marketplace\/(?!contract\/)/, importer: /^src\/(?!sandbox\/)/ },
  { target: /^src\/(?!domain\/|marketplace\/contract\/)/, importer: /^src\/(?!marketplace\/contract\/)/ },
  // The product never leans on the marketplace that it is tried against.
  {
    target: /^src\/sandbox\//,
    importer: /^src\/(sandbox\/|cli\/(commands\/sandbox\.ts$|marketplace-coverage\.ts$|(sandbox|try)-))/,
  },
  // The receiver stores a delivery and knows nothing of what becomes of it.
  { target: /^src\/(?!domain\/|lib\/|inbox\/|http\/receiver\/)/, importer: /^src\/(?!http\/receiver\/)/ },
];

/** Third-party packages that stay behind one door. */
const onlyIn: Record<string, RegExp> = {
  kysely: /^src\/db\/|^migrations\/|-store\.ts$/,
  'better-sqlite3': /^src\/db\/(sqlite-database|checkpoint-thread|alive-lock)\.ts$/,
  pg: /^src\/db\/postgres-database\.ts$/,
  express: /^src\/(http|sandbox)\//,
  zod: /^src\/(config|operations|marketplace\/contract)\/|-schema\.ts$|^src\/http\/api\/(serve-api|openapi-document|problem)\.ts$|^src\/(adapters\/adapter|keys\/backup-file|sandbox\/(parse-request|openapi))\.ts$/,
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
  usageStale: ['memberships', 'usage'],
};

/** What goes through columns of one kind in all tables: leases of the dead, the clock, what is sealed. */
const upkeep = /^src\/(db\/(alive-lock|cut-back-store)|keys\/rotate-key-store)\.ts$/;

const files = globSync('src/**/*.ts');

describe('architecture', () => {
  it('finds the source tree', () => {
    expect(files.length).toBeGreaterThan(5);
  });

  it('gives every folder a floor', () => {
    expect([...new Set(files.map(folderOf))].sort()).toEqual(floors.flat().sort());
  });

  it('writes each table in one folder', () => {
    const writers = Object.groupBy(
      files.flatMap((file) => tablesWrittenIn(file).map((table) => ({ table, folder: folderOf(file) }))),
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

  it.each(files)('%s keeps to its floor', (file) => {
    expect(importsOf(file).filter((target) => !mayImport(file, target))).toEqual([]);
  });
});

function mayImport(file: string, target: string): boolean {
  if (target.startsWith('migrations/')) return file.startsWith('src/db/');
  if (!target.startsWith('src/')) return onlyIn[packageOf(target)]?.test(file) !== false;
  if (knownOnlyTo.some((rule) => rule.target.test(target) && !rule.importer.test(file))) return false;
  const [from, to] = [folderOf(file), folderOf(target)];
  // What tools or sources share knows none of them, and they do not know each other.
  if (from === to) return [undefined, kindOf(file)].includes(kindOf(target)) || isListOfAdapters(file);
  return levelOf(to) < levelOf(from) && (isListOfAdapters(file) || knowsOnly[from]?.includes(to) !== false);
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

function levelOf(folder: string): number {
  return floors.flat().indexOf(folder);
}

function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/** The tool of an adapter, or the kind of a source. */
function kindOf(file: string): string | undefined {
  return /^src\/(?:adapters\/(?!conformance\/)|marketplace\/(?!contract\/))([^/]+)\//.exec(file)?.[1];
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
