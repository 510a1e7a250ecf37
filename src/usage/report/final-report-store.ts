import { onSame } from '../../db/query.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL of final readings that are not reported yet.

/** A removal whose final reading is to be reported, and whose work it is. */
export interface FinalReport {
  membershipId: number;
  generation: number;
  workSince: string;
  tool: string;
  groupId: string;
  trainerId: string;
}

/** The first of those whose work has been read; undefined where there is none. */
export function nextFinalReport(ctx: Storage, now: string): Promise<FinalReport | undefined> {
  return ctx.database.kysely
    .selectFrom('awaitedReading')
    .innerJoin('membership', 'membership.id', 'awaitedReading.membershipId')
    .select(['awaitedReading.membershipId', 'awaitedReading.generation', 'awaitedReading.workSince'])
    .select(['membership.tool', 'membership.groupId', 'membership.trainerId'])
    .where('awaitedReading.workSince', 'is not', null)
    .$narrowType<{ workSince: string }>()
    .where('awaitedReading.reportedAt', 'is', null)
    .where((eb) => eb.or([eb('awaitedReading.reportAfter', 'is', null), eb('awaitedReading.reportAfter', '<=', now)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('awaitedScope')
            .leftJoin('usageScope', onSame('usageScope', 'awaitedScope', ['tool', 'scope']))
            .select('awaitedScope.scope')
            .whereRef('awaitedScope.membershipId', '=', 'awaitedReading.membershipId')
            .where(({ or, eb: is, ref }) =>
              or([
                is('usageScope.readBeganAt', 'is', null),
                is('usageScope.readBeganAt', '<', ref('awaitedReading.workSince')),
              ]),
            ),
        ),
      ),
    )
    .orderBy('awaitedReading.workSince')
    .limit(1)
    .executeTakeFirst();
}
