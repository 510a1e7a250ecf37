import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { env } from 'node:process';
import { defineConfig, type OutputAsset, type OutputChunk, type PluginContext } from 'rolldown';

/**
 * What most commands load is in four files instead of in forty small ones: `gangway status` took 8 % more of the
 * processor with those. Each has all that it imports, except what is in those before it.
 */
const groups = [
  { name: 'base', test: /src.(domain|lib)./, minShareCount: 15, priority: 4 },
  { name: 'line', test: /src.config.(find-configuration|nearest|text-rules)/, priority: 3 },
  { name: 'database', test: /src.db.open-database/, priority: 2 },
  { name: 'config', test: /src.config.load-config/, priority: 1 },
];

/**
 * The program in a few files, because loading hundreds is most of what a short command takes. All lie in one folder,
 * so that the code that starts a thread finds the thread's file beside it. Names and lines are kept, so that a stack
 * trace can be read without a map.
 */
export default defineConfig({
  input: {
    main: 'src/main.ts',
    'append-thread': 'src/inbox/append-thread.ts',
    'checkpoint-thread': 'src/db/checkpoint-thread.ts',
    adapter: 'src/adapters/adapter.ts',
    kit: 'src/adapters/kit.ts',
    conformance: 'src/adapters/conformance.ts',
  },
  platform: 'node',
  transform: { define: { BUILT_FROM: JSON.stringify(commitOf()) } },
  plugins: [
    { name: 'narrow', generateBundle: (_, bundle) => Object.values(bundle).forEach(narrow) },
    { name: 'assets', buildStart: copyAssets },
    { name: 'leave-out', resolveId: leaveOut, load: (id) => (id === nothing ? 'module.exports = {};' : null) },
  ],
  // Compiled code of its own, and what is loaded only where it is installed.
  external: ['better-sqlite3', 'pg-native', /^@modelcontextprotocol\//],
  output: {
    dir: 'dist',
    chunkFileNames: '[name].js',
    codeSplitting: { groups },
    comments: { legal: true, annotation: false, jsdoc: false },
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  },
});

/** The commit that is checked out; empty outside of a checkout. */
function commitOf(): string {
  const describe = ['describe', '--always', '--dirty', '--exclude', '*'];
  try {
    // biome-ignore lint/style/noProcessEnv: the program has no part in it
    return env['COMMIT'] || execFileSync('git', describe, { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '';
  }
}

/** What browsers load, and what `gangway adapter new` writes, beside the bundle as they lie beside the source. */
function copyAssets(this: PluginContext): void {
  const folder = 'src/http/console/assets';
  const files = readdirSync(folder).map((name) => [name, path.join(folder, name)] as const);
  const idiomorph = createRequire(import.meta.url).resolve('idiomorph/dist/idiomorph.esm.js');
  for (const [name, file] of [...files, ['idiomorph.js', idiomorph] as const]) {
    this.emitFile({ type: 'asset', fileName: `assets/${name}`, source: readFileSync(file) });
  }
  for (const name of readdirSync('src/cli/template')) {
    this.emitFile({ type: 'asset', fileName: `template/${name}`, source: readFileSync(`src/cli/template/${name}`) });
  }
}

const nothing = '\0nothing.cjs';

/** Parts of packages that are loaded with them and never used here. */
function leaveOut(id: string, importer = ''): string | null {
  // prom-client loads it for exemplars, which are not used here.
  if (id === '@opentelemetry/api' && importer.includes('prom-client')) return nothing;
  // The charsets beside UTF-8 and UTF-16 are half a megabyte of tables. Express loads them for other bodies than JSON.
  const isCharsets = id === '../encodings' && importer.includes('iconv-lite');
  return isCharsets ? path.join(path.dirname(importer), '../encodings/internal.js') : null;
}

/** One wide character makes the text of a whole file take twice the memory. Written as an escape it means the same. */
function narrow(file: OutputAsset | OutputChunk): void {
  if (file.type !== 'chunk') return;
  file.code = file.code.replaceAll(/[\u0100-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
