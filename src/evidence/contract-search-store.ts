import { sql } from 'kysely';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';

export type FoundContract = Pick<Row<'contract'>, 'install' | 'contractId' | 'title'>;

/** Contracts with this id, or with the text in their title. */
export async function searchContracts(ctx: Storage, text: string, limit: number): Promise<FoundContract[]> {
  const pattern = `%${text.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`;
  return await ctx.database.kysely
    .selectFrom('contract')
    .select(['install', 'contractId', 'title'])
    .where((eb) => eb.or([eb('contractId', '=', text), sql<boolean>`lower(title) like ${pattern} escape '!'`]))
    .orderBy('title')
    .orderBy('contractId')
    .limit(limit)
    .execute();
}
