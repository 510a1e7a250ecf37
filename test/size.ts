import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open-database.ts';
import { writtenByHand } from './docs/renew-page.ts';
import { countCodeLines } from './support/code-lines.ts';
import { groupImports, importGraph, measureGraph } from './support/imports.ts';
import { format, print, printTable } from './support/print-table.ts';

/**
 * `npm run size`: prints how large Gangway is.
 *
 * - A code line is neither blank nor comment, in a text file of any type. Markdown in `src` counts twice, as lines here
 *   and as documentation.
 * - A function is named if it is declared, or is a method, or is the value of a variable or a property.
 * - A type is an interface or a type alias.
 * - The floor of a folder of `src` is the length of the longest chain of folders that starts there and in which each
 *   folder imports the next. Imports of types count. A loose file counts as a folder. CONTRIBUTING.md groups these
 *   into nine floors.
 */
interface Size {
  files: number;
  codeLines: number;
  functions: number;
  types: number;
}

interface MeasuredFile extends Size {
  file: string;
  lines: number;
}

const lineLimit = 320;

const graph = importGraph(globSync('src/**/*.ts'));
const folders = measureGraph(groupImports(graph, folderOf));
const { circles: circlesOfFiles } = measureGraph(graph);

const product = ['src', 'migrations', 'bin'].flatMap(listFiles).map(measureFile);
const tests = listFiles('test').map(measureFile);
const partOf = ({ file }: MeasuredFile) => (file.startsWith('src/') ? folderOf(file) : path.dirname(file));
const measured = Object.groupBy(product, partOf);
const source = product.filter(({ file }) => file.startsWith('src/'));
const withoutSandbox = source.filter((file) => partOf(file) !== 'sandbox');

printTable([
  ['', 'files', 'code lines', 'functions', 'types', 'floor'],
  ...[...new Set(withoutSandbox.map(partOf))].sort().map((part) => rowOf(part, measured[part])),
  [],
  rowOf('src without the sandbox', withoutSandbox, Math.max(...folders.heights.values())),
  rowOf('sandbox', measured['sandbox']),
  rowOf('migrations', measured['migrations']),
  rowOf('bin', measured['bin']),
  rowOf('all of these', product),
]);
print('');
printTable([
  ['tables in the database', format(await countTables())],
  ['circles between folders', format(folders.circles.length)],
  ['circles between files', format(circlesOfFiles.length)],
  [`files over ${lineLimit} lines`, format(product.filter(({ lines }) => lines > lineLimit).length)],
  ...linesByType(withoutSandbox),
  ['files of tests', format(tests.length)],
  ['code lines of tests', format(sum(tests, 'codeLines'))],
  ['all lines of tests', format(sum(tests, 'lines'))],
  ...documentation(),
]);

function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
}

function measureFile(file: string): MeasuredFile {
  const text = readFileSync(file, 'utf8');
  // An image or an archive has no lines.
  if (text.includes('\0')) return { file, files: 1, lines: 0, codeLines: 0, functions: 0, types: 0 };
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const named =
    /\.[jt]s$/.test(file) && !file.startsWith('test/') ? countNamed(file, text) : { functions: 0, types: 0 };
  return { file, files: 1, lines, codeLines: countCodeLines(file, text), ...named };
}

function countNamed(file: string, text: string): Pick<Size, 'functions' | 'types'> {
  const counts = { functions: 0, types: 0 };
  const countType = () => {
    counts.types += 1;
  };
  const countFunction = (value: { type: string } | null) => {
    if (value !== null && /^(Arrow)?Function(Expression|Declaration)$/.test(value.type)) counts.functions += 1;
  };
  new Visitor({
    FunctionDeclaration: countFunction,
    MethodDefinition: ({ kind, value }) => countFunction(kind === 'constructor' ? null : value),
    PropertyDefinition: ({ value }) => countFunction(value),
    Property: ({ value }) => countFunction(value),
    VariableDeclarator: ({ init }) => countFunction(init),
    TSInterfaceDeclaration: countType,
    TSTypeAliasDeclaration: countType,
  }).visit(parseSync(file, text).program);
  return counts;
}

/** The migrator's own tables are not among them. */
async function countTables(): Promise<number> {
  const database = openDatabase('sqlite::memory:');
  await migrate(database);
  const tables = await database.kysely.introspection.getTables();
  await database.close();
  return tables.length;
}

function linesByType(files: MeasuredFile[]): string[][] {
  const byType = Object.entries(Object.groupBy(files, ({ file }) => path.extname(file).slice(1)));
  const counted = byType.map(([type, all = []]) => ({ type, codeLines: sum(all, 'codeLines') }));
  return counted
    .sort((a, b) => b.codeLines - a.codeLines)
    .map(({ type, codeLines }) => [`code lines of ${type} in src without the sandbox`, format(codeLines)]);
}

function documentation(): string[][] {
  const texts = globSync(['*.md', '{docs,src,test}/**/*.md']).map((file) => readFileSync(file, 'utf8'));
  const bytes = Buffer.byteLength(texts.join(''));
  const byHand = Buffer.byteLength(texts.map(writtenByHand).join(''));
  return [
    ['KB of Markdown written by hand', format(Math.round(byHand / 1000))],
    ['KB of Markdown generated', format(Math.round((bytes - byHand) / 1000))],
  ];
}

function rowOf(name: string, files: MeasuredFile[] = [], floor = folders.heights.get(name)): string[] {
  const sizes = (['files', 'codeLines', 'functions', 'types'] as const).map((key) => format(sum(files, key)));
  return [name, ...sizes, floor === undefined ? '' : format(floor)];
}

function sum<Key extends string>(all: readonly Record<Key, number>[], key: Key): number {
  return all.reduce((total, one) => total + one[key], 0);
}
