import { AppError } from '../../domain/errors.ts';
import type { Call } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { readPages } from '../http/read-pages.ts';
import type { Contract, ContractFilter, ContractPage, Link, Participant, Source } from '../source.ts';
import { ContractBudget, ContractList, ContractPeople } from './employer-schema.ts';
import type { FindWorkEmail } from './work-email.ts';

type ContractCalls = Pick<Source, 'listContracts' | 'listParticipants' | 'readBudget'>;

/** Answers that are about one job alone: it is another account's, or it does not exist (any more). */
const refusalsOfJob: ReadonlySet<AppError['code']> = new Set(['forbidden', 'not_found']);

/**
 * The contracts on the linked jobs (spec: part A section 4.6). They are listed job by job, so that one job that is
 * refused leaves only its own contracts unread.
 */
export function createContractCalls(
  call: Call,
  listLinks: (signal: AbortSignal) => Promise<Link[]>,
  findWorkEmail: FindWorkEmail,
): ContractCalls {
  async function listOfJob(jobId: string, { status, wantsMore, keep = (all) => all }: Listed, signal: AbortSignal) {
    const query = new URLSearchParams({ jobId, status });
    return await readPages<Contract>(
      async (cursor) => {
        if (cursor !== undefined) query.set('cursor', cursor);
        const operation = { path: `/contracts?${query}`, purpose: `list the contracts of the job ${jobId}` };
        const { contracts, ...paging } = await call({ ...operation, answer: ContractList }, signal);
        return { records: contracts.map((one) => keep({ ...one, projectLinkIds: [] })), ...paging };
      },
      { keyOf: ({ id }) => id, wantsMore },
    );
  }

  return {
    async listContracts({ projectLinkId, ...listed }, signal) {
      const links = (await listLinks(signal)).filter(({ jobId }) => typeof jobId === 'string');
      const asked = projectLinkId === undefined ? links : links.filter(({ id }) => id === projectLinkId);
      const page = createPage(links);
      for (const [jobId, ofJob] of Map.groupBy(asked, (link) => link.jobId as string)) {
        try {
          page.add(jobId, await listOfJob(jobId, listed, signal));
        } catch (error) {
          if (!(error instanceof AppError) || !refusalsOfJob.has(error.code)) throw error;
          page.refuse(ofJob, error);
        }
      }
      return page.end();
    },

    async listParticipants(contractId, signal) {
      const purpose = 'read who is on a contract';
      const { contract } = await call({ path: toPath(contractId), purpose, answer: ContractPeople }, signal);
      requireContract(contract.id, contractId, purpose);
      const { freelancer, jobDmConversationId: conversationId } = contract;
      if (freelancer === undefined) return [];
      const { userId: opentrainUserId, displayName } = freelancer;
      const found = await findWorkEmail({ contractId, conversationId }, signal);
      return [{ opentrainUserId, displayName, ...found }] satisfies Participant[];
    },

    async readBudget(contractId, signal) {
      const purpose = 'read the budget of a contract';
      const { contract } = await call({ path: toPath(contractId), purpose, answer: ContractBudget }, signal);
      requireContract(contract.id, contractId, purpose);
      requireContract(contract.budget.contractId, contractId, purpose);
      return contract.budget;
    },
  };
}

type Listed = Omit<ContractFilter, 'projectLinkId'>;

/** Collects the contracts of several jobs, each on the links of its job. */
function createPage(links: readonly Link[]) {
  const linkIdsOf = new Map(
    [...Map.groupBy(links, ({ jobId }) => jobId)].map(([job, of]) => [job, of.map(({ id }) => id)]),
  );
  const contracts = new Map<string, Contract>();
  const unreadLinks: ContractPage['unreadLinks'] = [];
  let isComplete = true;
  let isAnyRead = false;
  return {
    add(jobId: string, listed: Pick<ContractPage, 'isComplete'> & { records: Contract[] }): void {
      isAnyRead = true;
      isComplete &&= listed.isComplete;
      for (const contract of listed.records) {
        // Should the marketplace ignore the filter, people of another job must not get into this one's project.
        const projectLinkIds = linkIdsOf.get(contract.jobId ?? jobId) ?? [];
        contracts.set(contract.id, { ...contract, projectLinkIds });
      }
    },
    refuse(ofJob: readonly Link[], refusal: AppError): void {
      for (const { id, jobId } of ofJob) unreadLinks.push({ linkId: id, jobId: jobId ?? '', refusal });
    },
    /** Where every job is refused, the account is, and nothing was read. */
    end(): ContractPage {
      const [first] = unreadLinks;
      if (first !== undefined && !isAnyRead) throw first.refusal;
      return { contracts: [...contracts.values()], isComplete, unreadLinks };
    },
  };
}

function toPath(contractId: string): string {
  return `/contracts/${toSegment(contractId)}`;
}

/** Trainers and money of one contract must not count for another. */
function requireContract(answered: string, asked: string, purpose: string): void {
  if (answered === asked) return;
  throw new AppError('invalid', `Could not ${purpose}: the answer is about another contract`);
}
