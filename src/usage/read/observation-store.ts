import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { Day, Moment, Observation } from '../../domain/usage.ts';
import { toItem, totalsOf } from './load-work.ts';
import { momentsOf } from './merge-items.ts';

// The SQL that reads what the tools observed. It changes nothing.

export interface ObservedSpan {
  trainerIds: readonly string[];
  /** Earlier days are left out. */
  fromDay: Day;
}

/** The observed days of these trainers, and their first totals. */
export async function toolObservations(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay }: ObservedSpan,
): Promise<Observation[]> {
  const ofThem = jsonTexts(database, trainerIds);
  const days = db.selectFrom('usageDay').selectAll().where('trainerId', 'in', ofThem).where('day', '>=', fromDay);
  const people = db.selectFrom('usagePerson').selectAll().where('trainerId', 'in', ofThem);
  const firsts = (await people.where('totals', 'like', '%"first":%').execute()).flatMap(toFirstTotal);
  return [
    ...(await days.orderBy('day').orderBy('trainerId').execute()).map(toObservation),
    ...firsts.filter(({ day }) => day >= fromDay),
  ];
}

function toObservation({ isFrozen, isTorn, ...row }: Row<'usageDay'>): Observation {
  const { day, seenAt, seconds, tasks, labels } = row;
  return { ...toSource(row), day, seenAt, counts: { seconds, tasks, labels }, isFrozen, isTorn };
}

function toFirstTotal(row: Row<'usagePerson'>): Observation[] {
  const first = totalsOf(row)?.first;
  if (first === undefined) return [];
  const { day, at: seenAt, counts } = first;
  return [{ ...toSource(row), day, seenAt, counts, isFirstTotal: true }];
}

function toSource({
  tool,
  scope,
  memberId,
  trainerId,
}: Pick<Row<'usagePerson'>, 'tool' | 'scope' | 'memberId' | 'trainerId'>) {
  return { source: `tool:${tool}`, workedOn: { by: 'scope', tool, scope } as const, trainerId, memberId };
}

/** The moments of one day's work. Empty where the source does not know its work piece by piece. */
export async function listMoments(db: Transaction, { workedOn, memberId, day }: Observation): Promise<Moment[]> {
  if (workedOn.by !== 'scope' || memberId === undefined) return [];
  const rows = await db
    .selectFrom('usageItem')
    .selectAll()
    .where('tool', '=', workedOn.tool)
    .where('scope', '=', workedOn.scope)
    .where('memberId', '=', memberId)
    .where('lastDay', '>=', day)
    .where((eb) => eb.or([eb('doneDay', '=', day), eb('grown', 'like', `%"${day}"%`)]))
    .execute();
  return rows.flatMap((row) => momentsOf(toItem(row), day));
}
