import pg from 'pg';

/** @param url of the server, ending in `/` */
export async function createPostgresDatabase(url: string, name: string, template: string): Promise<void> {
  await execute(`${url}postgres`, `create database ${name} template ${template} strategy file_copy`);
}

/** It works also while there are connections to the database. */
export async function dropPostgresDatabase(url: string, name: string): Promise<void> {
  await execute(`${url}postgres`, `drop database ${name} with (force)`);
}

/**
 * Has the database remember what it holds, so that it and its copies can be put back to that, which takes a tenth of
 * the time of another copy.
 */
export async function makeResettable(database: string): Promise<void> {
  await execute(database, resettable);
}

/**
 * Puts it back to what it held when it was made resettable. Who is still connected is thrown out.
 *
 * @returns false if its tables have changed, so that no other test can use it
 */
export async function resetPostgresDatabase(database: string): Promise<boolean> {
  const [row] = await execute(database, 'select reset.put_back() as is_as_before');
  return row?.['is_as_before'] === true;
}

async function execute(database: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

const resettable = `
  create schema reset;

  create function reset.shape() returns text language sql as $$
    select md5(concat(
      (select string_agg(concat_ws(' ', attrelid::regclass, attname, atttypid, attnotnull, attisdropped), ',' order by attrelid, attnum)
        from pg_attribute join pg_class on pg_class.oid = attrelid where relnamespace = 'public'::regnamespace),
      (select string_agg(proname, ',' order by proname) from pg_proc where pronamespace = 'public'::regnamespace),
      (select string_agg(tgname, ',' order by tgname) from pg_trigger where not tgisinternal)))
  $$;

  -- The rows of each table, as text in a function: a table more would be one that tests find.
  do $$
  declare
    name text;
    rows text;
    refill text := 'select;';
  begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
      execute format('select json_agg(t) from public.%I t', name) into rows;
      continue when rows is null;
      refill := refill || format('insert into public.%1$I overriding system value
        select * from json_populate_recordset(null::public.%1$I, %2$L);', name, rows);
    end loop;
    execute format('create function reset.refill() returns void language sql as %L', refill);
    execute format('create function reset.shape_before() returns text language sql as %L', format('select %L', reset.shape()));
  end $$;

  create function reset.put_back() returns boolean language plpgsql as $$
  declare used text;
  begin
    perform pg_terminate_backend(pid, 10000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid();
    if reset.shape() <> reset.shape_before() then
      return false;
    end if;
    -- Their files are made anew: else rows would lie in another order, and among those that were deleted.
    select string_agg(format('public.%I', relname), ', ') into used from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0;
    if used is not null then
      execute format('truncate %s restart identity cascade', used);
    end if;
    perform reset.refill();
    return true;
  end $$;
`;
