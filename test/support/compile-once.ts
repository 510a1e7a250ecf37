import { fileURLToPath } from 'node:url';

/**
 * Has the processes and threads that tests start keep what they compile for each other: there are
 * hundreds, and loading the sources takes many of them longer than what they are started for.
 */
export function compileOnce(): void {
  const folder = new URL('../../node_modules/.cache/compiled', import.meta.url);
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(folder);
}
