import { randomBytes } from 'node:crypto';
import type { By } from '../../db/audit-store.ts';
import { type AppError, toAppError } from '../../domain/errors.ts';
import { answer } from '../../operations/input.ts';
import type { Operation, OperationContext } from '../../operations/operation.ts';
import type { Operator } from './sign-in.ts';

/** An operation that was started in the console and may take long: approving a plan reads the customers first. */
export interface StartedAct {
  id: string;
  operation: Operation;
  by: By;
  /** The page to go back to. */
  back: string;
  progress: string | null;
  /** Null while it is running. */
  outcome: { answer: object } | { error: AppError } | null;
  /** Resolves with the outcome, and never rejects. */
  ended: Promise<void>;
}

export type StartedActs = ReturnType<typeof createStartedActs>;

const mostKept = 100;
const timeoutMs = 600_000;

/** The acts that are running on this instance, and the latest that ended. An interrupted act is not resumed. */
export function createStartedActs() {
  const kept = new Map<string, StartedAct>();
  const stopping = new AbortController();
  return {
    begin(
      ctx: OperationContext,
      { by, operator: { role } }: { by: By; operator: Operator },
      { operation, input, back }: { operation: Operation; input: object; back: string },
    ): StartedAct {
      const id = randomBytes(8).toString('hex');
      const started: StartedAct = { id, operation, by, back, progress: null, outcome: null, ended: Promise.resolve() };
      const call = {
        by,
        role,
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]),
        loops: [],
        onProgress(says: string) {
          started.progress = says;
        },
      };
      const running: Promise<NonNullable<StartedAct['outcome']>> = answer(operation, input, ctx, call).then(
        (answered) => ({ answer: answered }),
        (thrown) => ({ error: toAppError(thrown) }),
      );
      started.ended = running.then((outcome) => {
        started.outcome = outcome;
        if ('error' in outcome && outcome.error.code === 'internal') {
          ctx.logger.error({ err: outcome.error, operation: operation.id }, 'An act failed');
        }
      });
      // A secret answer is for the caller alone, so it is not kept.
      if (!operation.isSecret) kept.set(id, started);
      for (const oldest of [...kept.keys()].slice(0, -mostKept)) kept.delete(oldest);
      return started;
    },
    find: (id: string) => kept.get(id),
    /** Aborts the acts that are running. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([...kept.values()].map(({ ended }) => ended));
    },
  };
}
