import { randomUUID } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { type JobLinks, toLink } from '../marketplace/source.ts';

/**
 * The only SQL about the links of an employer's own account. A link that the configuration no longer names stays until
 * it is removed: configuration is not evidence.
 *
 * @param configured the project by the id of the job
 */
export function createJobLinks(database: Database, install: string, configured: ReadonlyMap<string, string>): JobLinks {
  const { kysely } = database;

  return {
    async list() {
      const stored = await load(kysely);
      const isStored = (jobId: string, project: string) =>
        stored.some((one) => one.jobId === jobId && one.externalProjectId === project);
      const missing = [...configured].filter(([jobId, project]) => !isStored(jobId, project));
      const links = missing.length === 0 ? stored : await inTransaction(database, (tx) => addAll(tx, missing));
      return links.map(({ linkId, jobId, externalProjectId }) => toLink(linkId, jobId, externalProjectId));
    },

    async create({ externalProjectId, jobId, provisioningMode }) {
      if (provisioningMode === 'MANAGED_ADAPTER') {
        throw new AppError('invalid', 'The marketplace does not provision projects of your own account. Gangway does');
      }
      if (jobId == null) throw new AppError('invalid', 'Say whose people work in the project: --job <id>');
      const made = await inTransaction(database, (tx) => insert(tx, jobId, externalProjectId));
      if (made !== undefined) return toLink(made.linkId, jobId, externalProjectId);
      throw new AppError('conflict', `Job ${jobId} is already linked to project ${externalProjectId}`);
    },

    async remove(linkId) {
      await inTransaction(database, async (tx) => {
        const link = (await load(tx)).find((one) => one.linkId === linkId);
        if (link === undefined) throw new AppError('not_found', `There is no link ${linkId}`);
        if (configured.get(link.jobId) === link.externalProjectId) {
          const where = `installs.${install}.jobs`;
          throw new AppError('conflict', `The configuration has this link. Remove it from ${where} first`);
        }
        await tx.deleteFrom('jobLink').where('install', '=', install).where('linkId', '=', linkId).execute();
      });
    },
  };

  function load(from: Transaction) {
    return from.selectFrom('jobLink').selectAll().where('install', '=', install).orderBy('linkId').execute();
  }

  async function addAll(tx: Transaction, missing: readonly [string, string][]) {
    for (const [jobId, project] of missing) await insert(tx, jobId, project);
    return await load(tx);
  }

  /** @returns nothing where another instance, or an earlier command, made it */
  async function insert(tx: Transaction, jobId: string, externalProjectId: string) {
    return await tx
      .insertInto('jobLink')
      .values({ install, linkId: `lnk_${randomUUID()}`, jobId, externalProjectId })
      .onConflict((conflict) => conflict.columns(['install', 'jobId', 'externalProjectId']).doNothing())
      .returning('linkId')
      .executeTakeFirst();
  }
}
