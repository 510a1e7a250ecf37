import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Each as its file under `src` and where it begins there: `domain/brake.ts:1204`. */
export type Functions = ReadonlySet<string>;

const sources = `${pathToFileURL(path.resolve('src')).href}/`;

/**
 * Reads the coverage of a process that ran with `NODE_V8_COVERAGE`: the named functions that its main thread ran at least
 * once.
 *
 * @returns those of the whole process; and, where it wrote its coverage several times, those of each later part
 */
export function readExecutedFunctions(folder: string): Functions[] {
  // `coverage-<process>-<time>-<thread>.json`
  const files = readdirSync(folder).filter((name) => name.endsWith('-0.json'));
  const parts = files.sort().map((file) => readPart(path.join(folder, file)));
  return [new Set(parts.flatMap((part) => [...part])), ...parts.slice(1)];
}

function readPart(file: string): Functions {
  const { result } = JSON.parse(readFileSync(file, 'utf8')) as { result: Profiler.ScriptCoverage[] };
  const functions = new Set<string>();
  for (const script of result) {
    if (!script.url.startsWith(sources) || script.url.startsWith(`${sources}sandbox/`)) continue;
    for (const { functionName, ranges } of script.functions) {
      const [whole] = ranges;
      // The body of a module has no name either.
      if (functionName === '' || whole === undefined || whole.count === 0) continue;
      functions.add(`${script.url.slice(sources.length)}:${whole.startOffset}`);
    }
  }
  return functions;
}
