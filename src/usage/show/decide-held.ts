import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { type HeldWork, workKey } from '../attribute/attribute-work.ts';
import { decideWork, heldIdOf } from '../attribute/decision-store.ts';
import { listPeople, openDue } from '../attribute/load-due.ts';

export interface ListedHeld extends HeldWork {
  id: string;
}

/** Loads held work, some trainers at a time. Changes nothing. */
export async function* listHeld(ctx: Context): AsyncGenerator<ListedHeld> {
  const due = await openDue(ctx);
  for await (const people of listPeople(due)) {
    const { held } = await due.load(people);
    yield* held.map(toListed);
  }
}

async function* listHeldOf(ctx: Context, trainerId: string): AsyncGenerator<ListedHeld> {
  const { held } = await (await openDue(ctx)).load([trainerId]);
  yield* held.map(toListed);
}

function toListed(held: HeldWork): ListedHeld {
  return { ...held, id: heldIdOf(workKey(held.observation)) };
}

async function findHeld(ctx: Context, id: string, trainerId: string | undefined): Promise<ListedHeld> {
  for await (const one of trainerId === undefined ? listHeld(ctx) : listHeldOf(ctx, trainerId)) {
    if (one.id === id) return one;
  }
  throw new AppError('not_found', `No held work is called ${id}`);
}

/**
 * Stores what an operator decided about held work: the contract that it is of, or none, so that it is never reported.
 *
 * @param trainerId whose work it is, where that is known: all other work need not be searched then
 * @throws AppError `not_found` where no such work is held, `invalid` for a contract it cannot be of
 */
export async function decideHeld(
  ctx: Context,
  id: string,
  contractId: string | null,
  trainerId?: string,
): Promise<HeldWork> {
  const held = await findHeld(ctx, id, trainerId);
  const chosen = held.contracts.find((one) => one.contractId === contractId);
  if (contractId !== null && chosen === undefined) {
    const known = held.contracts.map((one) => one.contractId).join(', ') || 'none';
    throw new AppError('invalid', `It cannot be of that contract; it may be of: ${known}`);
  }
  await decideWork(ctx, workKey(held.observation), chosen ?? null, toInstant(ctx.clock.now()));
  return held;
}
