import { rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const fixtures = path.resolve('test/adapters/fixtures');

/** An adapter as a file, for the fake tool with an HTTP API: what `gangway adapter new` writes. */
export const trackerFile = path.resolve('src/cli/template/adapter.ts');

let installed = 0;

/** Installs the example package as npm would, until the test is over; its name. */
export function installExamplePackage(): string {
  installed += 1;
  const name = `gangway-adapter-example-${process.pid}-${installed}`;
  const folder = path.resolve('node_modules', name);
  symlinkSync(path.join(fixtures, 'example-package'), folder);
  onTestFinished(() => rmSync(folder));
  return name;
}
