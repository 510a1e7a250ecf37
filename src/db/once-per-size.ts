import type { CompiledQuery } from 'kysely';

/**
 * Builds a statement once for each number of rows and keeps it, because building it costs several times
 * what running it costs. A value that is not a parameter stays as it was built.
 */
export function oncePerSize<Row>(build: (size: number) => CompiledQuery<Row>): (size: number) => CompiledQuery<Row> {
  const built = new Map<number, CompiledQuery<Row>>();
  return (size) => {
    const query = built.get(size) ?? build(size);
    built.set(size, query);
    return query;
  };
}
