const memories = new WeakMap<object, Map<string, unknown>>();

/** A value that lives as long as its owner, such as a database. The first call creates it. */
export function remembered<T>(owner: object, name: string, create: () => T): T {
  const memory = memories.get(owner) ?? new Map<string, unknown>();
  memories.set(owner, memory);
  if (!memory.has(name)) memory.set(name, create());
  return memory.get(name) as T;
}
