import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { builtInAdapters } from '../src/adapters/built-in-adapters.ts';
import { configJsonSchema, type JsonSchema } from '../src/config/json-schema.ts';

/** What is written down in two places, held together. */

describe('the adapters', () => {
  it('that are built in are those that have a folder', () => {
    const folders = readdirSync('src/adapters', { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'conformance')
      .map(({ name }) => name);
    expect(folders.sort()).toEqual([...builtInAdapters].sort());
  });

  it('are in the table of the README', () => {
    const named = rowsOf('adapter').map(([first = '']) => /`([^`]+)`/.exec(first)?.[1]);
    expect(named.sort()).toEqual([...builtInAdapters].sort());
  });
});

/** The rows of the README's table whose first column has this title. */
function rowsOf(title: string): string[][] {
  const lines = readFileSync('README.md', 'utf8').split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`| ${title} |`));
  if (begin === -1) return [];
  const rest = lines.slice(begin + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? undefined : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the configuration', () => {
  const mark = 'Not in effect yet.';
  const sources = globSync('src/**/*.ts', { exclude: ['src/config/**', 'src/sandbox/**'] });
  const code = sources.map((file) => readFileSync(file, 'utf8')).join('\n');

  /** Handed on as they are: whether they mean anything is up to the adapter, or to a person. */
  const handedOn = new Set(['tools.*.offboarding', '$schema']);

  const keys = keysOf(configJsonSchema()).filter(({ path }) => !handedOn.has(path));

  it('is found', () => {
    expect(keys.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['removals.max', 'installs.*.token', 'tools.*.timeout']),
    );
  });

  it.each(keys)('marks $path where nothing reads it, and only then', (key) => {
    expect(key.isMarked).toBe(!isRead(key));
  });

  /** A section by `config.<name>`, and in it a key by the name it comes out with. */
  function isRead({ path, readAs }: Key): boolean {
    const [section = '', ...rest] = path.split('.');
    const hasSection = new RegExp(`\\bconfig\\.${section}\\b`).test(code);
    const isOfNames = rest.every((name) => name === '*');
    return hasSection && (isOfNames || new RegExp(`\\b${readAs}\\b`).test(code));
  }

  interface Key {
    path: string;
    readAs: string;
    /** Itself, or all that it stands in. */
    isMarked: boolean;
  }

  function keysOf(schema: JsonSchema, before: string[] = [], isWithinMarked = false): Key[] {
    const properties = Object.entries(schema.properties ?? {}) as [string, JsonSchema][];
    const { additionalProperties: named } = schema;
    const hasNames = typeof named === 'object' && named.type === 'object';
    const children = hasNames ? [...properties, ['*', named as JsonSchema] as const] : properties;
    return children.flatMap(([name, child]) => {
      const path = [...before, name];
      const isMarked = isWithinMarked || child.description?.includes(mark) === true;
      const below = keysOf(child, path, isMarked);
      const isDuration = /^\d+(ms|s|m|h|d)$/.test(String(child.default));
      const readAs = isDuration ? `${name}Ms` : name;
      return below.length > 0 ? below : [{ path: path.join('.'), readAs, isMarked }];
    });
  }
});

describe('the tests', () => {
  /** What leaves a test out whatever the machine; one that a machine cannot run may say so. */
  const leavesOut = /\b(it|test|describe)(\.\w+)*\.(only|skip|todo|fails)\b|\b[xf](it|describe)[.(]/;

  it.each(globSync('test/**/*.test.ts'))('of %s are all run', (file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    expect(lines.filter((line) => leavesOut.test(line))).toEqual([]);
  });

  it('replace no module: the files that follow in the same process would get it too', () => {
    const files = globSync('test/**/*.ts');
    expect(files.filter((file) => /\bvi\.(do)?mock\(/i.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
