import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { version } from '../lib/version.ts';
import type { Printed } from './define-command.ts';

/** `gangway adapter new`: an adapter to start from, with a test of it. */
export function runAdapterNew({ file }: { file: string }): Printed {
  const name = path.basename(file, '.ts');
  const files = { adapter: file, test: path.join(path.dirname(file), `${name}.test.ts`) };
  write(files.adapter, toText('adapter.ts', name));
  write(files.test, toText('adapter.test.ts', name));
  return {
    data: files,
    text: () => `Wrote ${files.adapter}, and ${files.test} that tests it.

1. Install what "npm pack" makes in a checkout of Gangway: npm install --save-dev ./gangway-${version}.tgz
2. See that all cases pass: node --test ${files.test}
3. Put the requests of your tool in the adapter, and its answers in the test.
4. Try the tool itself: gangway adapter test ${files.adapter} --settings <file> --group <id> --yes`,
  };
}

/** In a checkout, the template runs as it is. Elsewhere Gangway is a package. */
function toText(template: string, name: string): string {
  return readFileSync(new URL(`template/${template}`, import.meta.url), 'utf8')
    .replaceAll(/'\.\.\/\.\.\/adapters\/(\w+)\.ts'/g, "'gangway/$1'")
    .replaceAll("'./adapter.ts'", `'./${name}.ts'`);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new AppError('conflict', `${file} exists; name another file`);
    throw new AppError('invalid', `Could not write ${file}: ${message}`, { cause: error });
  }
}
