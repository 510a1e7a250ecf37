/**
 * How often to try what is left to chance and takes long: all of it in `.ci/run`, which sets
 * `TEST_TRIES=all`, and a tenth at a desk, so that all tests are run there at all.
 */
export function tries(all: number): number {
  return process.env['TEST_TRIES'] === 'all' ? all : Math.ceil(all / 10);
}
