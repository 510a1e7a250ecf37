import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** Who may import whom, bottom layer first. A folder may always import itself. */
const mayImport: Record<string, readonly string[]> = {
  domain: [],
  lib: ['domain'],
  config: ['domain', 'lib'],
  db: ['domain', 'lib', 'migrations'],
  migrations: ['db'],
  marketplace: ['domain', 'lib'],
  'adapters/(port)': ['domain', 'lib'],
  'adapters/(tool)': ['adapters/(port)', 'domain', 'lib'],
  inbox: ['db', 'domain', 'lib'],
  receiver: ['inbox', 'domain', 'lib'],
  engine: ['inbox', 'adapters/(port)', 'db', 'domain', 'lib'],
  installs: ['marketplace', 'db', 'domain', 'lib'],
  mail: ['engine', 'db', 'domain', 'lib'],
  notify: ['mail', 'db', 'domain', 'lib'],
  reconcile: ['engine', 'marketplace', 'adapters/(port)', 'db', 'domain', 'lib'],
  subscription: ['installs', 'reconcile', 'marketplace', 'db', 'domain', 'lib'],
  'usage/read': ['engine', 'adapters/(port)', 'db', 'domain', 'lib'],
  'usage/attribute': ['usage/read', 'db', 'domain', 'lib'],
  'usage/report': ['usage/attribute', 'usage/read', 'marketplace', 'db', 'domain', 'lib'],
  'usage/show': ['usage/report', 'usage/attribute', 'usage/read', 'domain', 'lib'],
  'usage/import': ['usage/read', 'installs', 'db', 'domain', 'lib'],
  usage: [
    'usage/read',
    'usage/attribute',
    'usage/report',
    'engine',
    'marketplace',
    'adapters/(port)',
    'db',
    'domain',
    'lib',
  ],
  budget: ['marketplace', 'db', 'domain', 'lib'],
  operator: [
    'budget',
    'usage',
    'notify',
    'installs',
    'mail',
    'subscription',
    'reconcile',
    'engine',
    'marketplace',
    'adapters/(port)',
    'config',
    'db',
    'domain',
    'lib',
  ],
  keys: ['engine', 'inbox', 'installs', 'db', 'domain', 'lib'],
  privacy: ['engine', 'inbox', 'db', 'domain', 'lib'],
  console: ['inbox', 'engine', 'domain', 'lib'],
  sandbox: ['domain', 'lib'],
  'open-storage.ts': ['engine', 'inbox', 'db', 'domain', 'lib'],
  cli: [
    'app.ts',
    'open-storage.ts',
    'installs',
    'subscription',
    'usage',
    'notify',
    'operator',
    'adapters/(port)',
    'config',
    'sandbox',
    'keys',
    'privacy',
    'engine',
    'inbox',
    'db',
    'domain',
    'lib',
  ],
  'main.ts': ['cli', 'domain'],
};

/** Third-party packages that stay behind one door. */
const onlyIn: Record<string, RegExp> = {
  kysely: /^src\/db\/|^migrations\/|-store\.ts$/,
  'better-sqlite3': /^src\/db\/(sqlite-database|cached-statements|checkpoint-thread|alive-lock|alive-probe)\.ts$/,
  pg: /^src\/db\/postgres-database\.ts$/,
  express: /^src\/(receiver|console|sandbox)\//,
  zod: /^src\/config\/|-schema\.ts$|^src\/adapters\/adapter\.ts$/,
  pino: /^src\/lib\/logger\.ts$/,
  commander: /^src\/cli\//,
  'csv-parse': /^src\/lib\/read-csv\.ts$/,
  nodemailer: /^src\/mail\/send-mail\.ts$/,
  'p-retry': /^src\/lib\/retry\.ts$/,
};

const files = globSync('{src,migrations}/**/*.ts');

describe('architecture', () => {
  it('finds the source tree', () => {
    expect(files.length).toBeGreaterThan(5);
  });

  it.each(files)('%s keeps to its layer', (file) => {
    expect(importsOf(file).filter((target) => isStranger(file, target))).toEqual([]);
  });
});

function isStranger(file: string, target: string): boolean {
  if (!/^(src|migrations)\//.test(target)) return onlyIn[packageOf(target)]?.test(file) === false;
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to || from === 'app.ts') return false;
  return ![to, path.dirname(to)].some((layer) => mayImport[from]?.includes(layer));
}

/** `adapters/cvat/x.ts` and `adapters/doccano/y.ts` share a rule but are strangers to each other. */
function layerOf(file: string): string {
  const [top = '', folder = '', next = '', tool] = file.split('/');
  if (top === 'migrations') return top;
  if (/^create-(engine|receiver|stores|works)\.ts$/.test(folder)) return 'app.ts';
  if (folder === 'usage' && tool !== undefined) return `usage/${next}`;
  if (folder !== 'adapters') return folder;
  // The list of what is built in names every adapter, as `app.ts` names every part.
  if (/^src\/adapters\/(create-adapter|load-adapters)\.ts$/.test(file)) return 'app.ts';
  const isPort = tool === undefined || next === 'conformance';
  return isPort ? 'adapters/(port)' : `adapters/${next}`;
}

for (const folder of new Set(files.map(layerOf))) {
  if (folder.startsWith('adapters/')) mayImport[folder] ??= mayImport['adapters/(tool)'] ?? [];
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
