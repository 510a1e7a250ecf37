import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** Bottom first: a folder may import itself and what is below it, and none beside it. */
const layers: readonly (readonly string[])[] = [
  ['domain'],
  ['lib'],
  ['config', 'sandbox', 'marketplace', 'adapters/(port)'],
  // Migrations are written with the helpers of `db`, which runs them.
  ['db', 'adapters/(tool)'],
  ['keys'],
  ['inbox', 'tools'],
  ['memberships', 'installs'],
  ['evidence', 'removals'],
  ['converge'],
  ['mail', 'reconcile'],
  ['notify', 'installs/subscription', 'usage/read'],
  ['usage/attribute', 'usage/import'],
  ['usage/report'],
  ['usage', 'usage/show', 'budget', 'privacy', 'receiver', 'console'],
  ['operator'],
  ['app'],
  ['cli'],
  ['main.ts'],
];

/** What knows nothing of parts that are below it all the same. */
const knowsOnly: Record<string, readonly string[]> = {
  sandbox: ['domain', 'lib'],
  marketplace: ['domain', 'lib'],
  'adapters/(port)': ['domain', 'lib'],
  'adapters/(tool)': ['adapters/(port)', 'domain', 'lib'],
  receiver: ['inbox', 'domain', 'lib'],
};

/** Third-party packages that stay behind one door. */
const onlyIn: Record<string, RegExp> = {
  kysely: /^src\/db\/|^migrations\/|-store\.ts$/,
  'better-sqlite3': /^src\/db\/(sqlite-database|checkpoint-thread|alive-lock|alive-probe)\.ts$/,
  pg: /^src\/db\/(postgres-database|change-channel)\.ts$/,
  express: /^src\/(receiver|console|sandbox)\//,
  zod: /^src\/config\/|-schema\.ts$|^src\/adapters\/adapter\.ts$/,
  pino: /^src\/lib\/logger\.ts$/,
  commander: /^src\/cli\//,
  'csv-parse': /^src\/lib\/read-csv\.ts$/,
  nodemailer: /^src\/mail\/send-mail\.ts$/,
  'p-retry': /^src\/lib\/retry\.ts$/,
};

const files = globSync('src/**/*.ts');

describe('architecture', () => {
  it('finds the source tree', () => {
    expect(files.length).toBeGreaterThan(5);
  });

  it('gives every folder a layer', () => {
    const known = new Set(layers.flat());
    expect([...new Set(files.map(layerOf))].filter((folder) => !known.has(folder))).toEqual([]);
  });

  it.each(files)('%s keeps to its layer', (file) => {
    expect(importsOf(file).filter((target) => !mayImport(file, target))).toEqual([]);
  });
});

function mayImport(file: string, target: string): boolean {
  if (target.startsWith('migrations/')) return file.startsWith('src/db/');
  if (!target.startsWith('src/')) return onlyIn[packageOf(target)]?.test(file) !== false;
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to) return toolOf(file) === toolOf(target) || isListOfAdapters(file);
  const isBelow = levelOf(to) < levelOf(from);
  return isListOfAdapters(file) || (isBelow && knowsOnly[from]?.includes(to) !== false);
}

function levelOf(layer: string): number {
  return layers.findIndex((folders) => folders.includes(layer));
}

function layerOf(file: string): string {
  const [, top = '', next = '', deeper] = file.split('/');
  if (top === 'usage' && deeper !== undefined) return `usage/${next}`;
  if (top === 'installs' && deeper !== undefined) return `installs/${next}`;
  if (top === 'adapters') return toolOf(file) === undefined ? 'adapters/(port)' : 'adapters/(tool)';
  return top;
}

/** Adapters of two tools are strangers to each other. */
function toolOf(file: string): string | undefined {
  return /^src\/adapters\/(?!conformance\/)([^/]+)\//.exec(file)?.[1];
}

/** The list of what is built in names every adapter. */
function isListOfAdapters(file: string): boolean {
  return /^src\/adapters\/(create-adapter|load-adapters)\.ts$/.test(file);
}

function importsOf(file: string): string[] {
  const specifiers = [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)];
  return specifiers.map(([, name = '']) => (name.startsWith('.') ? path.join(path.dirname(file), name) : name));
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
