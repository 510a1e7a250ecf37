import pg from 'pg';

/** @param url of the server, ending in `/` */
export async function createPostgresDatabase(url: string, name: string, template: string): Promise<void> {
  await execute(url, `create database ${name} template ${template} strategy file_copy`);
}

/** Also where somebody is still connected to it. */
export async function dropPostgresDatabase(url: string, name: string): Promise<void> {
  await execute(url, `drop database ${name} with (force)`);
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}postgres` });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
