import type { Counts } from '../domain/usage.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { ListedImport } from '../usage/import/import-store.ts';
import type { ImportPreview } from '../usage/import/preview-import.ts';
import type { LineFault } from '../usage/import/stage-import.ts';
import type { ReplacedImport } from '../usage/import/staging-store.ts';
import { type Columns, formatList } from './table.ts';

/** Texts about imports. */

export function toFaultText(faults: readonly LineFault[], faultCount: number): string {
  const lines = faults.map(({ line, fault }) => `line ${line}: ${fault}`);
  const more = faultCount - faults.length;
  if (more > 0) lines.push(`and ${toNumber(more)} more`);
  const wrong = faultCount === 1 ? '1 line is' : `${toNumber(faultCount)} lines are`;
  return [...lines, `Nothing was imported: ${wrong} wrong.`].join('\n');
}

export function toPreviewText(
  { install, fileName }: { install: string; fileName: string },
  preview: ImportPreview,
): string {
  const { lines, people, contracts, projects, days, firstDay, lastDay, sums, replaces } = preview;
  const facts = [
    ['people', toNumber(people)],
    ['contracts', toNumber(contracts)],
    ['projects', toNumber(projects)],
    ['days', `${toNumber(days)}, ${firstDay} to ${lastDay}`],
    ...toSums(sums),
    ...replaces.map((one) => ['replaces', toReplaced(one)]),
  ];
  const title = `${install}, ${stripControl(fileName)}: ${toNumber(lines)} lines`;
  return [title, ...facts.map(([name = '', said]) => `  ${name.padEnd(16)}${said}`)].join('\n');
}

function toReplaced({ importId, lines, sums }: ReplacedImport): string {
  const said = toSums(sums).map(([name, sum]) => `${name} ${sum}`);
  return `${toNumber(lines)} of import ${importId}: ${said.join(', ')}`;
}

/** Leaves out what was not counted, because that is not the same as a count of none. */
function toSums({ seconds, tasks, labels }: Counts): [string, string][] {
  const sums: [string, number | null][] = [
    ['totalSeconds', seconds],
    ['tasksCompleted', tasks],
    ['labelsCompleted', labels],
  ];
  return sums.flatMap(([name, sum]) => (sum === null ? [] : [[name, toNumber(sum)]]));
}

function toNumber(count: number): string {
  return count.toLocaleString('en');
}

export function toImportsTable(imports: readonly ListedImport[]): string {
  return formatList(imports, columns, 'Nothing was imported.');
}

const columns: Columns<ListedImport> = [
  ['id', ({ id }) => id, 'right'],
  ['install', ({ install }) => install],
  ['state', ({ state }) => state],
  ['lines', ({ lines }) => lines, 'right'],
  ['people', ({ people }) => people, 'right'],
  ['days', ({ firstDay, lastDay }) => `${firstDay} to ${lastDay}`],
  ['counts since', ({ countedAt }) => countedAt],
  ['by', ({ actor }) => actor],
  ['file', ({ fileName }) => fileName],
];
