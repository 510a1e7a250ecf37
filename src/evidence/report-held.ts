import type { Context } from '../context.ts';
import { remembered } from '../lib/remembered.ts';
import { describeHold, type HeldEvidence } from './hold-evidence.ts';

/** How many reports are remembered. A repeated alert does no harm. */
const maxReported = 10_000;
const heldQuietMs = 3_600_000;

/** Raises one alert an hour for each contract or trainer, however often more evidence of it is held. */
export function reportHeld({ database, alerts, clock }: Context, held: readonly HeldEvidence[]): void {
  const reported = remembered(database, 'when held evidence was reported', () => new Map<string, number>());
  for (const one of held) {
    const { install } = one;
    const subject = subjectOfHeld(one);
    const [key, now] = [JSON.stringify([install, subject]), clock.now().getTime()];
    if (Math.abs(now - (reported.get(key) ?? Number.NEGATIVE_INFINITY)) < heldQuietMs) continue;
    if (reported.size >= maxReported) reported.clear();
    reported.set(key, now);
    alerts.raise('evidence_held', { install, ...subject, reason: describeHold(one) });
  }
}

/** The contract or the trainer that has more than is taken in. Empty where it is the install itself. */
export function subjectOfHeld({ bound, contractId, trainerId }: HeldEvidence): object {
  if (bound === 'hires_of_install') return {};
  return bound === 'contracts_of_trainer' ? { trainer: trainerId } : { contract: contractId };
}
