import type { Database } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { emptyContract, emptyGrant, emptyLink } from '../domain/evidence.ts';
import { type Fact, type JournalStore, keyOf } from '../journal/journal-store.ts';
import { type Bearing, type KnownInvitation, listPlanItems } from '../memberships/explain-store.ts';

/**
 * What was known at a position of the journal. Rows that explain access are never deleted, so those of now name all that
 * there can have been then. Names, addresses and the words of tools are not in the journal.
 *
 * @param asked the trainer, by id or address, or the contract that `now` was loaded for
 */
export async function bearingAt(
  { kysely }: Database,
  { factsAt }: Pick<JournalStore, 'factsAt'>,
  position: number,
  now: Bearing,
  asked: string,
): Promise<Bearing> {
  const restate: Restate = async (subject, rows, key, toRow) => {
    const facts = await factsAt(position, subject, rows.map(key));
    return rows.flatMap((row) => {
      const fact = facts.get(key(row));
      return fact === undefined ? [] : [toRow(row, camelCased(fact))];
    });
  };
  const evidence = await evidenceAt(restate, now, asked);
  const trainers = new Set(evidence.participations.map(({ trainerId }) => trainerId));
  const memberships = now.memberships.filter(({ trainerId }) => trainers.has(trainerId));
  return { ...evidence, ...(await membershipsAt(restate, kysely, { ...now, memberships })) };
}

/** Rows as they were, without those that were not there yet. */
type Restate = <Row, Was>(
  subject: string,
  rows: readonly Row[],
  key: (row: Row) => string,
  toRow: (row: Row, fact: Fact) => Was,
) => Promise<Was[]>;

async function evidenceAt(restate: Restate, now: Bearing, asked: string) {
  const participations = await restate(
    'participation',
    now.participations,
    (one) => keyOf(one.install, one.contractId, one.trainerId),
    (one, fact) => ({ ...one, ...fact }),
  );
  const trainers = new Set(participations.map(({ trainerId }) => trainerId));
  const workedOn = new Set(participations.map(({ install, contractId }) => keyOf(install, contractId)));
  return {
    participations,
    contracts: await restate(
      'contract',
      now.contracts.filter((one) => one.contractId === asked || workedOn.has(keyOf(one.install, one.contractId))),
      (one) => keyOf(one.install, one.contractId),
      (one, fact) => ({ ...emptyContract(one.install, one.contractId), ...fact }),
    ),
    pairs: await restate(
      'contract_link',
      now.pairs,
      (one) => keyOf(one.install, one.contractId, one.linkId),
      (one, fact) => ({ ...one, ...fact }),
    ),
    links: await restate(
      'link',
      now.links,
      (one) => keyOf(one.install, one.linkId),
      (one, fact) => ({ ...emptyLink(one.install, one.linkId), ...fact }),
    ),
    grants: await restate(
      'install_grant',
      now.grants,
      (one) => keyOf(one.install, one.grantId),
      (one, fact) => ({ ...emptyGrant(one.install, one.grantId), ...fact }),
    ),
    people: await restate(
      'person',
      now.people.filter(({ trainerId }) => trainers.has(trainerId)),
      (one) => keyOf(one.install, one.trainerId),
      (one, fact) => ({ ...one, ...unnamed, hasAddress: fact['hasAddress'] === 1 }),
    ),
  };
}

async function membershipsAt(restate: Restate, kysely: Database['kysely'], now: Bearing) {
  const memberships = await restate(
    'membership',
    now.memberships,
    ({ id }) => keyOf(id),
    (one, fact) => ({ ...one, ...fact, ...unsaid, memberId: fact['hasMember'] === 1 ? '' : null }),
  );
  const ids = memberships.map(({ id }) => id);
  return {
    memberships,
    reasons: await restate(
      'reason',
      now.reasons.filter(({ membershipId }) => ids.includes(membershipId)),
      (one) => keyOf(one.membershipId, one.install, one.contractId, one.linkId),
      (one) => one,
    ),
    plans: await plansAt(restate, kysely, memberships),
    invitations: new Map(
      await restate(
        'invitation',
        ids,
        (id) => keyOf(id),
        (id, fact) => [id, fact as unknown as KnownInvitation] as const,
      ),
    ),
  };
}

/** By membership: the plan that held its removal. */
async function plansAt(
  restate: Restate,
  kysely: Database['kysely'],
  memberships: readonly Row<'membership'>[],
): Promise<Map<number, number>> {
  const generations = new Map(memberships.map(({ id, generation }) => [id, generation]));
  const items = await restate(
    'plan_item',
    await listPlanItems(kysely, [...generations.keys()]),
    ({ planId, membershipId }) => keyOf(planId, membershipId),
    ({ planId, membershipId }, fact) => ({
      planId,
      membershipId,
      held: fact['outcome'] === null && fact['generation'],
    }),
  );
  const plans = await restate(
    'plan',
    [...new Set(items.map(({ planId }) => planId))],
    (id) => keyOf(id),
    (id, fact) => (fact['state'] === 'open' ? id : null),
  );
  const holding = items.filter(
    ({ planId, membershipId, held }) => plans.includes(planId) && generations.get(membershipId) === held,
  );
  return new Map(holding.map(({ membershipId, planId }) => [membershipId, planId]));
}

const unnamed = { displayName: null, workEmailDomain: null, workEmailDigest: null, addressMissing: null };
/** It may quote names and addresses, and is of no weight for who could get in. */
const unsaid = { doubtedId: null, failure: null, nextAttemptAt: null };

function camelCased(fact: Fact): Fact {
  return Object.fromEntries(
    Object.entries(fact).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
