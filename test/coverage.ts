import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/**
 * `npm run coverage`: runs `npm test` and prints how many branches of each folder of `src` it takes. Processes that tests
 * start are not measured. It leaves the figures in `coverage/coverage-summary.json`. `--before FILE` compares them with
 * such a file of another commit, and fails where a folder lost more than a point.
 */
interface Branches {
  total: number;
  covered: number;
}

const mostLostPoints = 1;
const summaryFile = 'coverage/coverage-summary.json';
const { values } = parseArgs({ options: { before: { type: 'string' } } });

const coverage = ['--coverage', '--coverage.include=src/**', '--coverage.reporter=json-summary'];
const { status } = spawnSync('vitest', ['run', '--config', 'test/vitest.config.ts', ...coverage], { stdio: 'inherit' });
if (status !== 0) process.exit(1);

const before = values.before === undefined ? undefined : readFolders(values.before);
for (const [folder, branches] of [...readFolders(summaryFile)].sort()) {
  const points = toPoints(branches);
  const earlier = before?.get(folder);
  const gained = earlier === undefined ? 0 : points - toPoints(earlier);
  if (gained < -mostLostPoints) process.exitCode = 1;
  const change = earlier === undefined ? '' : `${gained < 0 ? '' : '+'}${gained.toFixed(2)}`.padStart(8);
  process.stdout.write(
    `${folder.padEnd(14)}${String(branches.total).padStart(6)}${points.toFixed(2).padStart(8)}${change}\n`,
  );
}

/** By the folder of `src`. */
function readFolders(file: string): Map<string, Branches> {
  const summary = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { branches: Branches }>;
  const folders = new Map<string, Branches>();
  for (const [name, { branches }] of Object.entries(summary)) {
    const folder = /\/src\/([\w-]+)\//.exec(name)?.[1];
    if (folder === undefined) continue;
    const { total, covered } = folders.get(folder) ?? { total: 0, covered: 0 };
    folders.set(folder, { total: total + branches.total, covered: covered + branches.covered });
  }
  return folders;
}

function toPoints({ total, covered }: Branches): number {
  return total === 0 ? 100 : (100 * covered) / total;
}
