import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { type HeldWork, workKey } from '../attribute/attribute-work.ts';
import { heldIdOf } from '../attribute/decision-store.ts';
import { listPeople, openDue } from '../attribute/load-due.ts';
import type { ReportDeps } from '../report/report-deps.ts';

export interface ListedHeld extends HeldWork {
  id: string;
}

/** Loads held work, some trainers at a time. Changes nothing. */
export async function* listHeld(deps: ReportDeps): AsyncGenerator<ListedHeld> {
  const due = await openDue(deps);
  for await (const people of listPeople(due)) {
    const { held } = await due.load(people);
    for (const one of held) yield { ...one, id: heldIdOf(workKey(one.observation)) };
  }
}

async function findHeld(deps: ReportDeps, id: string): Promise<ListedHeld> {
  for await (const one of listHeld(deps)) if (one.id === id) return one;
  throw new AppError('not_found', `No held work is called ${id}`);
}

/**
 * Stores what an operator decided about held work: the contract that it is of, or none, so that it is never reported.
 *
 * @throws AppError `not_found` where no such work is held, `invalid` for a contract it cannot be of
 */
export async function decideHeld(deps: ReportDeps, id: string, contractId: string | null): Promise<HeldWork> {
  const held = await findHeld(deps, id);
  const chosen = held.contracts.find((one) => one.contractId === contractId);
  if (contractId !== null && chosen === undefined) {
    const known = held.contracts.map((one) => one.contractId).join(', ') || 'none';
    throw new AppError('invalid', `It cannot be of that contract; it may be of: ${known}`);
  }
  await deps.decisions.decide(workKey(held.observation), chosen ?? null, toInstant(deps.clock.now()));
  return held;
}
