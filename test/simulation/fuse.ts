import { AsyncLocalStorage } from 'node:async_hooks';
import { clockwork } from './clockwork.ts';

/**
 * Kills at a moment that counts: some turns after the tool has done something or Gangway has answered, while what that
 * began is under way.
 */
export interface Fuse {
  /** @param afterTurns from the next strike on */
  arm(afterTurns: number, blow: () => Promise<void>): void;
  /** Something has happened that counts. */
  strike(): void;
  /** Waits for what it has begun. */
  disarm(): Promise<void>;
}

export function createFuse(): Fuse {
  let armed: (() => Promise<void>) | null = null;
  let blown: Promise<void> = Promise.resolve();
  return {
    arm(afterTurns, blow) {
      // What strikes is a process, and what kills it must not die with it.
      const inContext = AsyncLocalStorage.snapshot();
      armed = () => inContext(() => burn(afterTurns).then(blow));
    },
    strike() {
      if (armed === null) return;
      blown = armed();
      armed = null;
    },
    disarm() {
      armed = null;
      return blown;
    },
  };
}

async function burn(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await clockwork.turn();
}
