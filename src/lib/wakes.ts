import type { Loop } from './loop.ts';

/** Lets work be announced to loops that are created later, by a name. */
export interface Wakes<Name extends string> {
  wake(name: Name): void;
  /** From now on `wake` wakes these loops too. */
  add(name: Name, ...loops: readonly Loop[]): void;
}

export function createWakes<Name extends string>(): Wakes<Name> {
  const loops = new Map<Name, Loop[]>();
  return {
    wake(name) {
      for (const loop of loops.get(name) ?? []) loop.wake();
    },
    add(name, ...added) {
      loops.set(name, [...(loops.get(name) ?? []), ...added]);
    },
  };
}
