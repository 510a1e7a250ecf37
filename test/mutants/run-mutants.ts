import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mapAtOnce } from '../../src/lib/at-once.ts';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';

/**
 * `npm run test:mutants`: runs for each mutant its tests until one is red, and writes which one that was into the
 * report. A mutant that no test notices is a rule that no test holds. `MUTANTS=brake` runs those of the files with this in their
 * name, and writes nothing.
 */
const wanted = process.env['MUTANTS'] ?? '';
const reportFile = 'test/REPORT.md';
const atOnce = 2;
/** A mutant may wait for ever for what no longer comes. */
const longestMs = 300_000;

interface Verdict extends Pick<Mutant, 'rule' | 'file'> {
  /** Null if it survived. */
  killedBy: string | null;
}

const folder = mkdtempSync(path.join(tmpdir(), 'gangway-mutants-'));

async function main(): Promise<void> {
  const chosen = [...mutants.entries()].filter(([, { file }]) => file.includes(wanted));
  const stale = chosen.filter(([, { file, find }]) => readFileSync(file, 'utf8').split(find).length !== 2);
  for (const [, { rule, file }] of stale) process.stdout.write(`${file} no longer has the one place of “${rule}”\n`);
  const [red] = await findRed([...new Set(chosen.flatMap(([, { tests }]) => tests))], 'none');
  if (red !== undefined) process.stdout.write(`Without a mutant this is red: ${red}\n`);
  if (stale.length > 0 || red !== undefined) return fail();
  const verdicts: Verdict[] = [];
  await mapAtOnce(chosen, atOnce, async ([index, mutant]) => {
    const verdict = { rule: mutant.rule, file: mutant.file, killedBy: await findKiller(mutant, index) };
    verdicts.push(verdict);
    process.stdout.write(`${toLine(verdict)}\n`);
  });
  const inOrder = chosen.flatMap(([, { rule }]) => verdicts.filter((one) => one.rule === rule));
  if (wanted === '') writeReport(inOrder);
  const survived = verdicts.filter(({ killedBy }) => killedBy === null);
  process.stdout.write(`${verdicts.length} mutants, ${survived.length} survived\n`);
  if (survived.length > 0) fail();
}

function fail(): void {
  process.exitCode = 1;
}

async function findKiller({ tests }: Mutant, index: number): Promise<string | null> {
  for (const file of tests) {
    const [red] = await findRed([file], String(index));
    if (red !== undefined) return `${red}, in \`${file}\``;
  }
  return null;
}

/** @returns the tests that are red, up to the first @throws if no test was run */
async function findRed(files: readonly string[], mutant: string): Promise<string[]> {
  const outputFile = path.join(folder, `report-${mutant}.json`);
  rmSync(outputFile, { force: true });
  const options = ['--config', 'test/mutants/vitest.config.ts', '--bail=1', '--reporter=json', '--no-file-parallelism'];
  // What is no matter of the database is tried on one that needs no server.
  const pattern = '--testNamePattern=^(?!.*\\(postgres\\))';
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...options, `--outputFile=${outputFile}`, pattern, ...files];
  const said = await run(args, mutant);
  if (said.isStopped) return ['it hangs'];
  const report = JSON.parse(readFileSync(outputFile, 'utf8')) as Report;
  if (report.numTotalTests === 0) throw new Error(`nothing was run of ${files}: ${said.text}`);
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  return results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
}

interface Report {
  numTotalTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

async function run(args: string[], mutant: string): Promise<{ isStopped: boolean; text: string }> {
  const options = { env: { ...process.env, MUTANT: mutant }, timeout: longestMs, maxBuffer: 64 * 1024 * 1024 };
  return await new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ isStopped: error?.killed === true, text: stdout + stderr }),
    );
  });
}

function toLine({ rule, file, killedBy }: Verdict): string {
  return `| ${rule} | \`${file}\` | ${killedBy ?? '**survived**'} |`;
}

/** The section goes up to the next heading. */
function writeReport(verdicts: readonly Verdict[]): void {
  const heading = '## Mutants\n';
  const table = ['| rule that was broken | in | killed by |', '|---|---|---|', ...verdicts.map(toLine)];
  const [before = '', after = ''] = readFileSync(reportFile, 'utf8').split(heading);
  const next = after.indexOf('\n## ');
  writeFileSync(
    reportFile,
    [before, heading, '\n', table.join('\n'), '\n', next < 0 ? '' : after.slice(next)].join(''),
  );
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
