import type { CompiledQuery } from 'kysely';

/**
 * Building a statement costs several times what it costs to run, so one is built for each number of
 * rows and kept. What is no parameter is built in.
 */
export function oncePerSize<Row>(build: (size: number) => CompiledQuery<Row>): (size: number) => CompiledQuery<Row> {
  const built = new Map<number, CompiledQuery<Row>>();
  return (size) => {
    const query = built.get(size) ?? build(size);
    built.set(size, query);
    return query;
  };
}
