import { type Kysely, sql } from 'kysely';

/**
 * Since when links and grants are known, who said last how a link is provisioned, and which contract is
 * still on which link. And no contract ends any more by being in no list: what ended
 * like that is settled once, here.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addRegisters(db);
  await endWhatIsOut(db);
  await lookAgainAtWhoIsIn(db);
}

/** What was read before this is known for long, and else as long as it was seen. */
async function addRegisters(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('link').addColumn('first_seen_at', 'text').execute();
  await sql`update link set first_seen_at = case when contracts_read_at is null
    then seen_at else '1970-01-01T00:00:00.000Z' end`.execute(db);
  await db.schema.alterTable('link').addColumn('provisioning_mode_version', 'text').execute();
  // Names that no table beside it has: an older version joins them, and says neither of which.
  await db.schema.alterTable('contract_link').addColumn('named_at', 'text').execute();
  await db.schema.alterTable('contract_link').addColumn('omissions', 'text').execute();
  await db.schema.alterTable('install_grant').addColumn('first_active_read_at', 'text').execute();
  await sql`update install_grant set first_active_read_at = active_read_at`.execute(db);
}

interface MissedContract {
  install: string;
  id: string;
  started: string | null;
  listed: string | null;
  reopened: string | null;
  absences: string;
}

/**
 * It would count as active from now on. Where nobody is in the tool by it, it stays ended, as if an
 * operator had said so: people must not come back by an upgrade, and `contracts reopen` undoes it.
 */
async function endWhatIsOut(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<MissedContract>`
    select install, contract_id as id, started_event_at as started, active_read_at as listed,
      reopened_at as reopened, absences
    from contract
    where absences is not null and ended_read_at is null and ended_by_operator_at is null
      and not exists (
        select 1 from reason join membership on membership.id = reason.membership_id
        where reason.install = contract.install and reason.contract_id = contract.contract_id
          and membership.state not in ('removed', 'released', 'waiting_email')
      )`.execute(db);
  for (const contract of rows) {
    const goneAt = goneSince(contract);
    if (goneAt === undefined) continue;
    await sql`update contract set ended_by_operator_at = ${goneAt}
      where install = ${contract.install} and contract_id = ${contract.id}`.execute(db);
  }
}

/** As versions before this one counted: missed twice, 10 minutes apart, since it was last confirmed. */
function goneSince({ absences, started, listed, reopened }: MissedContract): string | undefined {
  const confirmed = [started, listed, reopened];
  const since = absences.split(' ').filter((at) => confirmed.every((one) => at > (one ?? '')));
  const [first = ''] = since;
  return since.find((at) => Date.parse(at) - Date.parse(first) >= 10 * 60_000);
}

/** Nobody's removal goes on for that; whether there is another reason for it is derived anew. */
async function lookAgainAtWhoIsIn(db: Kysely<unknown>): Promise<void> {
  await sql`update membership set remove_after = updated_at, next_attempt_at = null
    where cause = 'contract_eliminated' and state = 'removing' and remove_after is null`.execute(db);
  await sql`insert into derivation (install, trainer_id)
    select distinct install, trainer_id from membership
    where cause = 'contract_eliminated' and state in ('removing', 'held', 'failed')
    on conflict do nothing`.execute(db);
}
