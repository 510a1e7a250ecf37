import { AppError } from '../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { answerKeptMs } from './answer-purge-worker.ts';
import type { KeptAnswerStore, KeyedRequest } from './kept-answer-store.ts';
import { KeyReused, toApiError, toProblem } from './problem.ts';

/** What an act is answered with. Its status says whether it is a problem. */
export interface Answered {
  status: number;
  body: unknown;
}

interface OnceDeps {
  answers: KeptAnswerStore;
  clock: Clock;
}

/**
 * Acts once for each key. What was refused is kept as well as what was done; what failed for now is not, so that the
 * same request can be tried again.
 *
 * @throws AppError `conflict` while the act is under way, and a problem where the key came with another request
 */
export async function answerOnce(
  { answers, clock }: OnceDeps,
  keyed: KeyedRequest,
  act: () => Promise<unknown>,
): Promise<Answered & { isReplayed: boolean }> {
  const begun = await answers.begin(keyed, toInstant(clock.now()), instantIn(clock, -answerKeptMs));
  switch (begun.outcome) {
    case 'answered':
      return { ...(begun.answer as Answered), isReplayed: true };
    case 'other_request':
      throw new KeyReused();
    case 'under_way':
      throw new AppError(
        'conflict',
        'The request with this Idempotency-Key is under way, or was cut off: ask again, or see in the audit log whether it was done',
      );
    case 'begun':
      return { ...(await actAndKeep(answers, begun.id, act)), isReplayed: false };
  }
}

async function actAndKeep(answers: KeptAnswerStore, id: number, act: () => Promise<unknown>): Promise<Answered> {
  const body = await act().catch(async (thrown: unknown) => {
    const refusal = toProblem(toApiError(thrown));
    if (refusal.status >= 500) await answers.drop(id);
    else await answers.keep(id, { status: refusal.status, body: refusal });
    throw thrown;
  });
  const answered = { status: 200, body };
  await answers.keep(id, answered);
  return answered;
}
