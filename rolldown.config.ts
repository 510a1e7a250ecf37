import path from 'node:path';
import { defineConfig, type OutputAsset, type OutputChunk } from 'rolldown';

/**
 * The program in a few files, as loading hundreds is most of what a short command takes. All lie in
 * one folder: a thread's file is found beside whoever starts it. Names and lines are kept, so that a
 * stack trace can be read without a map.
 */
export default defineConfig({
  input: {
    main: 'src/main.ts',
    'append-thread': 'src/inbox/append-thread.ts',
    'checkpoint-thread': 'src/db/checkpoint-thread.ts',
    'alive-probe': 'src/db/alive-probe.ts',
    adapter: 'src/adapters/adapter.ts',
    kit: 'src/adapters/kit.ts',
    conformance: 'src/adapters/conformance.ts',
  },
  platform: 'node',
  plugins: [{ name: 'narrow', generateBundle: (_, bundle) => Object.values(bundle).forEach(narrow) }],
  // Taken in by prom-client for exemplars, which are not asked for: 51 files.
  resolve: { alias: { '@opentelemetry/api': path.join(import.meta.dirname, 'bin/no-telemetry.cjs') } },
  // Compiled code of its own, and what `pg` takes only where it is installed.
  external: ['better-sqlite3', 'pg-native'],
  output: {
    dir: 'dist',
    chunkFileNames: '[name].js',
    comments: { legal: true, annotation: false, jsdoc: false },
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  },
});

/** A file with one wide character takes twice the memory; written as escapes they mean the same. */
function narrow(file: OutputAsset | OutputChunk): void {
  if (file.type !== 'chunk') return;
  file.code = file.code.replaceAll(/[\u0100-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
