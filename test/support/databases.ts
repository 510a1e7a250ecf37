import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, inject, onTestFinished } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { createFolder } from './folder.ts';
import { createPostgresDatabase, dropPostgresDatabase, resetPostgresDatabase } from './postgres-admin.ts';

/** Opens a database of the test's own, migrated; it is closed and gone after the test. */
export type OpenFresh = () => Promise<Database>;

/** Declares the same tests once for SQLite and once for PostgreSQL. */
export function describeEachDatabase(name: string, declare: (openFresh: OpenFresh) => void): void {
  describeEachDialect(name, ({ createMigrated }) => {
    declare(async () => openForTest(await createMigrated()));
  });
}

/** Makes databases for one test and gives their urls, for tests that open them themselves. */
export interface Dialect {
  name: Database['dialect'];
  createEmpty(): Promise<string>;
  createMigrated(): Promise<string>;
}

export function describeEachDialect(name: string, declare: (dialect: Dialect) => void): void {
  describe.each([sqlite, postgres])(`${name} ($name)`, declare);
}

/** Opens a database that is closed after the test. */
export function openForTest(url: string): Database {
  const database = openDatabase(url);
  onTestFinished(() => database.close());
  return database;
}

export const sqlite: Dialect = {
  name: 'sqlite',
  createEmpty: async () => createSqliteUrl(),
  async createMigrated() {
    const url = createSqliteUrl();
    template ??= await migrateOne();
    writeFileSync(fileOf(url), template, { mode: 0o600 });
    return url;
  },
};

/** Migrating each would take longer than many tests. */
let template: Buffer | undefined;

async function migrateOne(): Promise<Buffer> {
  const url = createSqliteUrl();
  const database = openDatabase(url);
  await migrate(database);
  await database.close();
  return readFileSync(fileOf(url));
}

function fileOf(url: string): string {
  return url.slice('sqlite:'.length);
}

function createSqliteUrl(): string {
  return `sqlite:${path.join(createFolder(), 'gangway.db')}`;
}

export const postgres: Dialect = {
  name: 'postgres',
  createEmpty: () => createPostgresUrl('template0'),
  createMigrated: takeMigratedPostgres,
};

/** Databases that are as fresh as a copy of the template. */
const fresh: string[] = [];

async function takeMigratedPostgres(): Promise<string> {
  const { url, template } = inject('postgres');
  const name = fresh.pop() ?? (await createNamed(url, template));
  onTestFinished(async () => {
    if (await resetPostgresDatabase(`${url}${name}`)) fresh.push(name);
    else await dropPostgresDatabase(url, name);
  });
  return `${url}${name}`;
}

async function createPostgresUrl(template: string): Promise<string> {
  const { url } = inject('postgres');
  const name = await createNamed(url, template);
  onTestFinished(() => dropPostgresDatabase(url, name));
  return `${url}${name}`;
}

async function createNamed(url: string, template: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await createPostgresDatabase(url, name, template);
  return name;
}
