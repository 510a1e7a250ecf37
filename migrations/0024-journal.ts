import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/**
 * The evidence journal: what access follows from, each change as a row that is never changed or deleted. Triggers write
 * it, so that no statement is forgotten, not even one that a person types. It holds ids, times and states, and nothing
 * that names a person.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createJournal(db);
  const dialect = db.getExecutor().adapter instanceof PostgresAdapter ? postgres : sqlite;
  for (const watched of watchedTables) {
    for (const statement of toStatements(watched, dialect)) await sql.raw(statement).execute(db);
  }
  for (const statement of dialect.guards) await sql.raw(statement).execute(db);
  await sql.raw(`insert into setting (name, value) select 'journal_since', ${dialect.now}`).execute(db);
}

async function createJournal(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('journal')
    .addColumn('id', id)
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fact', 'text')
    .addColumn('seq', 'bigint')
    .addColumn('hash', 'text')
    .execute();
  await db.schema
    .createIndex('journal_seq')
    .unique()
    .on('journal')
    .column('seq')
    .where(sql.ref('seq'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('journal_unsealed')
    .on('journal')
    .column('id')
    .where(sql.ref('seq'), 'is', null)
    .execute();
  await db.schema.createIndex('journal_by_key').on('journal').columns(['subject', 'key']).execute();
}

/** A table whose rows are facts. */
interface Watched {
  table: string;
  key: readonly string[];
  /** By the name of a fact: the column that it stands in, or an expression over the columns of `row`. */
  facts: Readonly<Record<string, string>>;
  /** Which updates change what follows, as a condition over `old` and `new`; without one, none does. */
  changes?: string;
  /** Whether the deletion of a row is a fact too, and not only a cleaning up. */
  hasEnd?: true;
}

const same = (...columns: string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, `row.${column}`]));

const differs = (...columns: string[]): string =>
  columns.map((column) => `new.${column} is distinct from old.${column}`).join(' or ');

/** An observation after the last absence: those that follow it change nothing. */
const returns = (seen: string, absences: string): string =>
  `(new.${seen} is distinct from old.${seen} and new.${absences} is not null
    and (old.${seen} is null or old.${seen} < substr(new.${absences}, length(new.${absences}) - 23)))`;

/**
 * Readings confirm every contract and link again and again. Such an update is a fact only where what follows from the
 * registers may differ after it (`src/domain/evidence-status.ts`).
 */
const watchedTables: readonly Watched[] = [
  {
    table: 'contract',
    key: ['install', 'contract_id'],
    facts: same(
      'started_event_at',
      'ended_event_at',
      'active_read_at',
      'ended_read_at',
      'ended_by_operator_at',
      'reopened_at',
    ),
    changes: `${differs('started_event_at', 'ended_event_at', 'ended_read_at', 'ended_by_operator_at', 'reopened_at')}
      or (new.active_read_at is distinct from old.active_read_at
        and (old.active_read_at is null or new.ended_event_at is not null))`,
  },
  {
    table: 'link',
    key: ['install', 'link_id'],
    facts: same('removed_event_at', 'seen_at', 'absences', 'external_project_id', 'provisioning_mode'),
    changes: `${differs('removed_event_at', 'absences', 'external_project_id', 'provisioning_mode')}
      or ${returns('seen_at', 'absences')}`,
  },
  {
    table: 'contract_link',
    key: ['install', 'contract_id', 'link_id'],
    facts: same('named_at', 'omissions'),
    changes: `${differs('omissions')} or ${returns('named_at', 'omissions')}`,
  },
  {
    table: 'participation',
    key: ['install', 'contract_id', 'trainer_id'],
    facts: same('seen_at', 'absences'),
    changes: `${differs('absences')} or ${returns('seen_at', 'absences')}`,
  },
  {
    table: 'install_grant',
    key: ['install', 'grant_id'],
    facts: same('revoked_event_at', 'revoked_received_at', 'active_read_at'),
    changes: `${differs('revoked_event_at', 'revoked_received_at')}
      or (new.active_read_at is distinct from old.active_read_at and (old.active_read_at is null
        or old.active_read_at <= new.revoked_event_at
        or old.active_read_at < (select max(other.active_read_at) from install_grant other
          where other.install = new.install and other.grant_id <> new.grant_id)))`,
  },
  {
    table: 'person',
    key: ['install', 'trainer_id'],
    facts: { has_address: isThere('work_email_digest') },
    changes: '(new.work_email_digest is null) <> (old.work_email_digest is null)',
  },
  {
    table: 'membership',
    key: ['id'],
    facts: {
      ...same('tool', 'group_id', 'trainer_id', 'install', 'wanted', 'generation', 'state', 'is_ours', 'cause'),
      ...same('remove_after', 'missed_at', 'late_until'),
      has_member: isThere('member_id'),
    },
    changes: `${differs('install', 'wanted', 'generation', 'state', 'is_ours', 'cause', 'remove_after', 'missed_at')}
      or ${differs('late_until')} or (new.member_id is null) <> (old.member_id is null)`,
  },
  { table: 'reason', key: ['membership_id', 'install', 'contract_id', 'link_id'], facts: {} },
  {
    table: 'invitation',
    key: ['membership_id'],
    facts: same('kind', 'delivered_at', 'delivered_by'),
    changes: differs('kind', 'delivered_at', 'delivered_by'),
    hasEnd: true,
  },
  { table: 'plan', key: ['id'], facts: same('install', 'state'), changes: differs('state') },
  {
    table: 'plan_item',
    key: ['plan_id', 'membership_id'],
    facts: same('generation', 'cause', 'outcome'),
    changes: differs('outcome'),
  },
  {
    table: 'receipt',
    key: ['id'],
    facts: same('membership_id', 'generation', 'operation', 'outcome', 'tool_status', 'created_at', 'met_after_ms'),
  },
  {
    table: 'run',
    key: ['id'],
    facts: same('install', 'began_at', 'read_at', 'ended_at', 'outcome'),
    changes: differs('read_at', 'ended_at'),
  },
  { table: 'audit', key: ['id'], facts: same('at', 'actor', 'action', 'subject') },
];

function isThere(column: string): string {
  return `case when row.${column} is null then 0 else 1 end`;
}

interface Dialect {
  now: string;
  /** A value as JSON. Both databases write it alike. */
  toJson(expression: string): string;
  createTrigger(trigger: Trigger): string[];
  /** What keeps rows of the journal from being changed. */
  guards: readonly string[];
}

interface Trigger {
  name: string;
  table: string;
  event: 'insert' | 'update' | 'delete';
  when?: string | undefined;
  statement: string;
}

function toStatements({ table, key, facts, changes, hasEnd }: Watched, dialect: Dialect): string[] {
  const keyOf = (row: string) =>
    `'[' || ${key.map((column) => dialect.toJson(`${row}.${column}`)).join(` || ',' || `)} || ']'`;
  const factOf = (row: string) => {
    const parts = Object.entries(facts).map(
      ([name, expression]) => `'"${name}":' || ${dialect.toJson(expression.replaceAll('row.', `${row}.`))}`,
    );
    return parts.length === 0 ? `'{}'` : `'{' || ${parts.join(` || ',' || `)} || '}'`;
  };
  const note = (values: string, from = '') =>
    `insert into journal (at, subject, key, fact) select ${dialect.now}, '${table}', ${values} ${from}`;
  const write = (event: Trigger['event'], statement: string, when?: string) =>
    dialect.createTrigger({ name: `journal_${table}_${event}`, table, event, statement, when });
  const state = note(`${keyOf('new')}, ${factOf('new')}`);
  return [
    // What is there already, from before there was a journal.
    note(
      `${keyOf(table)}, ${factOf(table)}`,
      `from ${table} order by ${key.map((one) => `${table}.${one}`).join(', ')}`,
    ),
    ...write('insert', state),
    ...(changes === undefined ? [] : write('update', state, changes)),
    ...(hasEnd ? write('delete', note(`${keyOf('old')}, null`)) : []),
  ];
}

const sqlite: Dialect = {
  now: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
  toJson: (expression) => `json_quote(${expression})`,
  createTrigger: ({ name, table, event, when, statement }) => [
    `create trigger ${name} after ${event} on ${table} for each row
      ${when === undefined ? '' : `when ${when}`} begin ${statement}; end`,
  ],
  guards: [
    `create trigger journal_is_kept before delete on journal
      begin select raise(abort, 'rows of the journal are never deleted'); end`,
    `create trigger journal_is_sealed_once before update on journal
      when old.seq is not null or new.id is not old.id or new.at is not old.at or new.subject is not old.subject
        or new.key is not old.key or new.fact is not old.fact
      begin select raise(abort, 'rows of the journal are never changed'); end`,
  ],
};

const postgres: Dialect = {
  now: `to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  toJson: (expression) => `coalesce(to_json(${expression})::text, 'null')`,
  // The condition stands in the function, because that of a trigger cannot ask other rows.
  createTrigger: ({ name, table, event, when = 'true', statement }) => [
    `create function ${name}() returns trigger language plpgsql as
      $$ begin if ${when} then ${statement}; end if; return null; end $$`,
    `create trigger ${name} after ${event} on ${table} for each row execute function ${name}()`,
  ],
  guards: [
    `create function journal_refuse() returns trigger language plpgsql as
      $$ begin raise exception 'rows of the journal are never changed or deleted'; end $$`,
    'create trigger journal_is_kept before delete on journal for each row execute function journal_refuse()',
    `create trigger journal_is_sealed_once before update on journal for each row
      when (old.seq is not null or (new.id, new.at, new.subject, new.key, new.fact)
        is distinct from (old.id, old.at, old.subject, old.key, old.fact))
      execute function journal_refuse()`,
  ],
};
