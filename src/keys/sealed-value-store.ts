import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import {
  bodyContext,
  credentialContext,
  driftFindingContext,
  endpointSecretContext,
  invitationContext,
  keptAnswerContext,
  replacedTokenContext,
  tokenContext,
  workEmailContext,
} from './seal-contexts.ts';

/**
 * The only SQL that knows every sealed column of the database. It reads them page by page. A test fails
 * if a column of bytes is not listed here.
 */

type Key = readonly (string | number)[];
type Row = Record<string, string | number | Buffer>;

export interface SealedColumn {
  table: string;
  column: string;
  /** The columns that identify a row, in the order of the pages. */
  key: readonly string[];
  /** Other columns that the context needs. */
  contextColumns?: readonly string[];
  contextOf(row: Row): string;
  /** The column with a digest of the value, and the text that it is a digest of. */
  digest?: { column: string; textOf(plain: Buffer): string };
}

export interface SealedValue {
  key: Key;
  context: string;
  sealed: Buffer;
}

export const sealedColumns: readonly SealedColumn[] = [
  {
    table: 'delivery',
    column: 'body',
    key: ['id'],
    contextColumns: ['install', 'bodySha256'],
    contextOf: ({ install, bodySha256 }) => bodyContext(String(install), bodySha256 as Buffer),
  },
  {
    table: 'person',
    column: 'workEmail',
    key: ['install', 'trainerId'],
    contextOf: ({ install, trainerId }) => workEmailContext({ install: String(install), trainerId: String(trainerId) }),
    digest: { column: 'workEmailDigest', textOf: (plain) => plain.toString('utf8').toLowerCase() },
  },
  {
    table: 'membershipAddress',
    column: 'workEmail',
    key: ['id'],
    contextColumns: ['install', 'trainerId'],
    contextOf: ({ install, trainerId }) => workEmailContext({ install: String(install), trainerId: String(trainerId) }),
    digest: { column: 'workEmailDigest', textOf: (plain) => plain.toString('utf8').toLowerCase() },
  },
  {
    table: 'connectedInstall',
    column: 'token',
    key: ['install'],
    contextOf: ({ install }) => tokenContext(String(install)),
  },
  {
    table: 'webhookEndpoint',
    column: 'secret',
    key: ['install', 'endpointId'],
    contextOf: ({ install, endpointId }) => endpointSecretContext(String(install), String(endpointId)),
  },
  {
    table: 'replacedToken',
    column: 'token',
    key: ['digest'],
    contextOf: ({ digest }) => replacedTokenContext(String(digest)),
  },
  {
    table: 'intent',
    column: 'credential',
    key: ['id'],
    contextColumns: ['membershipId', 'generation'],
    contextOf: ({ membershipId, generation }) => credentialContext(Number(membershipId), Number(generation)),
  },
  {
    table: 'invitation',
    column: 'content',
    key: ['membershipId'],
    contextOf: ({ membershipId }) => invitationContext(Number(membershipId)),
  },
  {
    table: 'keptAnswer',
    column: 'answer',
    key: ['id'],
    contextOf: ({ id }) => keptAnswerContext(Number(id)),
  },
  {
    table: 'driftFinding',
    column: 'content',
    key: ['id'],
    contextOf: ({ id }) => driftFindingContext(String(id)),
    digest: { column: 'addressDigest', textOf: (plain) => addressIn(plain) },
  },
];

/** Empty where the tool shows no address: no person is searched for by that. */
function addressIn(plain: Buffer): string {
  const { email } = JSON.parse(plain.toString('utf8')) as { email: string | null };
  return email?.toLowerCase() ?? '';
}

/**
 * An empty value was never sealed. It is a body that was not kept.
 *
 * @param after the key of the last value before; null for the beginning
 */
export async function pageSealedValues(
  tx: Transaction,
  { table, column, key, contextColumns = [], contextOf }: SealedColumn,
  after: Key | null,
  limit: number,
): Promise<SealedValue[]> {
  const selected = listOf([...key, ...contextColumns, column]);
  const isAfter = after === null ? sql`true` : sql`(${listOf(key)}) > (${sql.join([...after])})`;
  const query = sql<Row>`select ${selected} from ${sql.table(table)}
    where octet_length(${sql.ref(column)}) > 0 and ${isAfter} order by ${listOf(key)} limit ${limit}`;
  const { rows } = await query.execute(tx);
  return rows.map((row) => ({
    key: key.map((name) => row[name] as string | number),
    context: contextOf(row),
    sealed: row[column] as Buffer,
  }));
}

export async function replaceSealedValue(
  tx: Transaction,
  { table, column, key, digest }: SealedColumn,
  of: Key,
  renewed: { sealed: Buffer; digest: string | undefined },
): Promise<void> {
  const sets = [sql`${sql.ref(column)} = ${renewed.sealed}`];
  if (digest !== undefined) sets.push(sql`${sql.ref(digest.column)} = ${renewed.digest}`);
  await sql`update ${sql.table(table)} set ${sql.join(sets)}
    where (${listOf(key)}) = (${sql.join([...of])})`.execute(tx);
}

function listOf(columns: readonly string[]) {
  return sql.join(columns.map((column) => sql.ref(column)));
}
