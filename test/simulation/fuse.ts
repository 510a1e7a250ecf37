import { AsyncLocalStorage } from 'node:async_hooks';
import { clockwork } from './clockwork.ts';

/**
 * Kills a process at a critical moment: some turns after the tool did something or Gangway answered, while the consequences
 * are still in progress.
 */
export interface Fuse {
  /** @param afterTurns counted from the next strike */
  arm(afterTurns: number, blow: () => Promise<void>): void;
  /** Called when something critical has happened. */
  strike(): void;
  /** Waits for the kill it has begun. */
  disarm(): Promise<void>;
}

export function createFuse(): Fuse {
  let armed: (() => Promise<void>) | null = null;
  let blown: Promise<void> = Promise.resolve();
  return {
    arm(afterTurns, blow) {
      // The call comes from the process itself, and the killer must not die with it.
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
