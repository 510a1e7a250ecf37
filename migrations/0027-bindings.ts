import { type Kysely, sql } from 'kysely';

/** Which customer an install is bound to, and a tool to which server; and the few who are orphaned. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_binding')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('organization_id', 'text')
    .addColumn('app_id', 'text')
    .execute();
  await sql`insert into install_binding (install, grant_id, organization_id)
    select install, grant_id, organization_id from connected_install`.execute(db);
  // Of the others it is known which grant was read last, and the next reading tells whose that is.
  await sql`insert into install_binding (install, grant_id)
    select install, max(grant_id) from install_grant
    where install not in (select install from connected_install)
      and active_read_at = (
        select max(active_read_at) from install_grant as other
        where other.install = install_grant.install
      )
    group by install`.execute(db);

  await db.schema
    .createTable('tool_binding')
    .addColumn('tool', 'text', (column) => column.primaryKey())
    .addColumn('identity', 'text')
    .addColumn('place', 'text')
    .execute();

  await db.schema
    .createIndex('membership_orphaned')
    .on('membership')
    .column('id')
    .where(sql.ref('state'), '=', sql.lit('orphaned'))
    .execute();
}
