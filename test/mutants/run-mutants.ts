import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createVitest } from 'vitest/node';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';

/**
 * `npm run test:mutants`: runs for each mutant its tests until one is red, and prints which one that was. A mutant that
 * survives is a rule that no test holds. `MUTANTS=brake` runs those of files with such a name.
 */
const wanted = process.env['MUTANTS'] ?? '';

interface Verdict extends Pick<Mutant, 'rule' | 'file'> {
  /** Null if it survived. */
  killedBy: string | null;
}

let current: Mutant | null = null;

const vitest = await createVitest(
  'test',
  {
    config: false,
    watch: false,
    include: ['test/**/*.test.ts'],
    reporters: [{}],
    bail: 1,
    isolate: false,
    maxWorkers: 1,
    testTimeout: 120_000,
    // It does not know of mutants.
    fsModuleCache: false,
    // What is no matter of the database is tried on one that needs no server.
    testNamePattern: /^(?!.*\(postgres\))/,
  },
  {
    plugins: [
      {
        name: 'mutant',
        enforce: 'pre',
        // Changes the one place as the module is loaded: the file stays as it is.
        transform: (code, id) =>
          current !== null && id === path.resolve(current.file)
            ? code.replace(current.find, () => current?.replace ?? '')
            : code,
      },
    ],
  },
);

/** @returns whether every mutant was killed */
async function killAll(): Promise<boolean> {
  const chosen = mutants.filter(({ file }) => file.includes(wanted));
  const stale = chosen.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
  for (const { rule, file } of stale) process.stdout.write(`${file} no longer has the one place of “${rule}”\n`);
  const [red] = await findRed([...new Set(chosen.flatMap(({ tests }) => tests))], null);
  if (red !== undefined) process.stdout.write(`Without a mutant this is red: ${red}\n`);
  if (stale.length > 0 || red !== undefined) return false;
  const verdicts: Verdict[] = [];
  for (const mutant of chosen) {
    const verdict = { ...mutant, killedBy: await findKiller(mutant) };
    verdicts.push(verdict);
    process.stdout.write(`${toLine(verdict)}\n`);
  }
  const survived = verdicts.filter(({ killedBy }) => killedBy === null);
  process.stdout.write(`${verdicts.length} mutants, ${survived.length} survived\n`);
  return survived.length === 0;
}

async function findKiller(mutant: Mutant): Promise<string | null> {
  for (const file of mutant.tests) {
    const [red] = await findRed([file], mutant);
    if (red !== undefined) return `${red}, in ${file}`;
  }
  return null;
}

/** @returns the tests that are red, up to the first @throws if no test was run */
async function findRed(files: readonly string[], mutant: Mutant | null): Promise<string[]> {
  // Only the changed module is loaded anew.
  for (const one of [current, mutant]) if (one !== null) vitest.invalidateFile(path.resolve(one.file));
  current = mutant;
  const specifications = await vitest.globTestSpecifications([...files]);
  const { testModules } = await vitest.runTestSpecifications(specifications);
  // Those of the runs before are still among them.
  const its = testModules.filter(({ moduleId }) => files.some((file) => moduleId === path.resolve(file)));
  const tests = its.flatMap(({ children }) => [...children.allTests()]);
  if (tests.length === 0) throw new Error(`nothing was run of ${files}`);
  return tests
    .filter((test) => test.result().state === 'failed')
    .map(({ fullName }) => fullName.replaceAll(' > ', ' '));
}

function toLine({ rule, file, killedBy }: Verdict): string {
  return `${rule} (${file}): ${killedBy ?? 'SURVIVED'}`;
}

try {
  const isWell = await killAll();
  // Whatever Vitest thinks of tests that are red.
  process.exitCode = isWell ? 0 : 1;
} finally {
  await vitest.close();
}
