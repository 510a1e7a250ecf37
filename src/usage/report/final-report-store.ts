import { onSame } from '../../db/query.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL of final readings that are not reported yet.

/** A removal whose final reading is to be reported, and whose work it is. */
export interface FinalReport {
  membershipId: number;
  generation: number;
  wantedAt: string;
  tool: string;
  groupId: string;
  trainerId: string;
}

/** The first of those whose work has been read; undefined where there is none. */
export function nextFinalReport(ctx: Storage, now: string): Promise<FinalReport | undefined> {
  return ctx.database.kysely
    .selectFrom('finalReading')
    .innerJoin('membership', 'membership.id', 'finalReading.membershipId')
    .select(['finalReading.membershipId', 'finalReading.generation', 'finalReading.wantedAt'])
    .select(['membership.tool', 'membership.groupId', 'membership.trainerId'])
    .where('finalReading.reportedAt', 'is', null)
    .where((eb) => eb.or([eb('finalReading.reportAfter', 'is', null), eb('finalReading.reportAfter', '<=', now)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('finalReadingScope')
            .leftJoin('usageScope', onSame('usageScope', 'finalReadingScope', ['tool', 'scope']))
            .select('finalReadingScope.scope')
            .whereRef('finalReadingScope.membershipId', '=', 'finalReading.membershipId')
            .where(({ or, eb: is, ref }) =>
              or([
                is('usageScope.readBeganAt', 'is', null),
                is('usageScope.readBeganAt', '<', ref('finalReading.wantedAt')),
              ]),
            ),
        ),
      ),
    )
    .orderBy('finalReading.wantedAt')
    .limit(1)
    .executeTakeFirst();
}
