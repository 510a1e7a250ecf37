import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { OutputAsset, OutputChunk, OutputOptions } from 'rolldown';
import type { Plugin } from 'vitest/config';

/** In `node_modules`, where the program finds the packages that are not bundled. */
const folder = path.resolve('node_modules', '.cache', 'gangway-program');

/** The bundled program. A process that runs it takes a third of the time that the sources take. */
export const programFile = path.join(folder, 'main.js');

/** The program with a tool that a test sees into. */
const httpToolBridge = fileURLToPath(new URL('./http-tool-bridge.ts', import.meta.url));
export const httpToolBridgeFile = path.join(folder, 'http-tool-bridge.js');

const thisFile = fileURLToPath(import.meta.url);
const sources = ['src', 'migrations', 'bin', 'rolldown.config.ts', 'package.json', httpToolBridge, thisFile];

/** Bundles the program where a source is newer (vitest's `globalSetup`). */
export async function setup(): Promise<void> {
  const builtAt = existsSync(programFile) ? statSync(programFile).mtimeMs : 0;
  if (sources.every((source) => changedAt(source) < builtAt)) return;
  const [{ rolldown }, { default: options }] = await Promise.all([
    import('rolldown'),
    import('../../rolldown.config.ts'),
  ]);
  const input = { ...(options.input as Record<string, string>), 'http-tool-bridge': httpToolBridge };
  const bundle = await rolldown({ ...options, input });
  const { output } = await bundle.generate(options.output as OutputOptions);
  await bundle.close();
  mkdirSync(folder, { recursive: true });
  copyFileSync('package.json', path.join(folder, 'package.json'));
  const isProgram = ({ fileName }: { fileName: string }) => fileName === path.basename(programFile);
  // The program itself comes last: its age says how old all of it is.
  for (const file of output.toSorted((a, b) => Number(isProgram(a)) - Number(isProgram(b)))) replace(file);
}

/** Another run may have a process that reads the file. */
function replace(file: OutputChunk | OutputAsset): void {
  const whole = path.join(folder, file.fileName);
  const part = `${whole}.${process.pid}`;
  mkdirSync(path.dirname(whole), { recursive: true });
  writeFileSync(part, file.type === 'chunk' ? file.code : file.source);
  renameSync(part, whole);
}

/** A file, or the files of a folder. */
function changedAt(source: string): number {
  const isFolder = statSync(source).isDirectory();
  const within = isFolder ? readdirSync(source, { recursive: true, encoding: 'utf8' }) : [];
  const files = [source, ...within.map((file) => path.join(source, file))];
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}

const besideIt = /new URL\(`\.\/([\w-]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/;

/** A bridge in a test's own process starts its threads from the bundle too, hundreds in a run. */
export const bundledThreads: Plugin = {
  name: 'bundled threads',
  enforce: 'pre',
  transform: (code) =>
    code.replace(besideIt, (_, name: string) => `new URL('${pathToFileURL(path.join(folder, `${name}.js`)).href}')`),
};
