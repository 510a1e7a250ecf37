import type { Context } from '../../context.ts';
import type { UsageTroubleKind } from '../../domain/usage.ts';
import type { AlertKind } from '../../lib/alerts.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { type HeldWork, workKey } from '../attribute/attribute-work.ts';
import { heldIdOf } from '../attribute/decision-store.ts';
import { countTrouble, forgetTroubles, markTroubleAlerted, noteTrouble } from './trouble-store.ts';

/** Collects what an operator has to look at after a run. */
export interface Troubles {
  noteWork(install: string, held: readonly HeldWork[]): Promise<void>;
  noteDays(install: string, kind: 'lowering' | 'refused', days: readonly DayOf[]): Promise<void>;
  /**
   * Raises an alert about what is new, and about everything again after a day.
   *
   * @param isWhole whether the run has looked at everything, so that what it has not found is over
   */
  raise(install: string, isWhole: boolean): Promise<void>;
}

interface DayOf {
  contractId: string;
  trainerId: string;
  day: string;
}

const dayMs = 86_400_000;

const says: Record<UsageTroubleKind, { alert: AlertKind; message: string }> = {
  work: {
    alert: 'usage_held',
    message: 'Work is not reported because its contract is not known: see "gangway usage held"',
  },
  lowering: {
    alert: 'usage_held',
    message:
      'A run would lower more of what was reported than it may: look at "gangway usage report --dry-run", then send it with --accept-lowered',
  },
  refused: {
    alert: 'usage_refused',
    message: 'The marketplace refuses days of usage: see "gangway usage show <contract>"',
  },
};

const kinds = Object.keys(says) as UsageTroubleKind[];

export function openTroubles(ctx: Context): Troubles {
  const beganAt = toInstant(ctx.clock.now());

  async function raiseKind(install: string, kind: UsageTroubleKind): Promise<void> {
    const of = { install, kind };
    const { all, fresh, due } = await countTrouble(ctx, of, instantIn(ctx.clock, -dayMs));
    if (fresh + due === 0) return;
    const { alert, message } = says[kind];
    ctx.alerts.raise(alert, { install, reason: kind, days: all, new: fresh }, message);
    // Marked afterwards: after a crash in between, a repeated alert is better than a lost one.
    await markTroubleAlerted(ctx, of, toInstant(ctx.clock.now()));
  }

  return {
    noteWork: (install, held) =>
      noteTrouble(
        ctx,
        { install, kind: 'work' },
        held.map(({ observation }) => heldIdOf(workKey(observation))),
        beganAt,
      ),

    noteDays: (install, kind, days) =>
      noteTrouble(
        ctx,
        { install, kind },
        days.map(({ contractId, trainerId, day }) => heldIdOf(JSON.stringify([contractId, trainerId, day]))),
        beganAt,
      ),

    async raise(install, isWhole) {
      if (isWhole) await forgetTroubles(ctx, install, beganAt);
      for (const kind of kinds) await raiseKind(install, kind);
    },
  };
}
