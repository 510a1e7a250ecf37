/**
 * How often to try what is left to chance and takes long: all of it in `.ci/run`, which sets
 * `GANGWAY_TESTS=all`, and a fifth at a desk, so that all tests are run there at all.
 */
export function tries(all: number): number {
  return process.env['GANGWAY_TESTS'] === 'all' ? all : Math.ceil(all / 5);
}
