import { AppError } from '../../domain/errors.ts';
import { Budget } from '../http/budget-schema.ts';
import type { Call } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import { readPages } from '../http/read-pages.ts';
import type { Participant, Source } from '../source.ts';
import { ContractList, ParticipantList, UsageAnswer } from './platform-schema.ts';

type ContractCalls = Pick<Required<Source>, 'listContracts' | 'listParticipants' | 'readBudget' | 'reportUsage'>;

const pageLimit = 200;

export function createContractCalls(call: Call): ContractCalls {
  return {
    async listContracts({ status, projectLinkId, wantsMore, keep = (all) => all }, signal) {
      const query = new URLSearchParams({ status, limit: String(pageLimit) });
      if (projectLinkId !== undefined) query.set('projectLinkId', projectLinkId);
      const { records, isComplete } = await readPages(
        async (cursor) => {
          if (cursor !== undefined) query.set('cursor', cursor);
          const path = `/contracts?${query}`;
          const operation = { path, purpose: 'list the contracts', answer: ContractList };
          const { contracts, ...paging } = await call(operation, signal);
          return { records: contracts.map(keep), ...paging };
        },
        { keyOf: ({ id }) => id, limit: pageLimit, wantsMore },
      );
      return { contracts: records, isComplete };
    },

    async listParticipants(contractId, signal) {
      const purpose = 'list the participants of a contract';
      return await listWhole<Participant>({
        path: `${toPath(contractId)}/participants`,
        purpose,
        keyOf: ({ opentrainUserId }) => opentrainUserId,
        async readPage(path) {
          const list = await call({ path, purpose, answer: ParticipantList }, signal);
          requireContract(list.contractId ?? contractId, contractId, purpose);
          return { records: list.participants, ...list };
        },
      });
    },

    async readBudget(contractId, signal) {
      const path = `${toPath(contractId)}/budget`;
      const purpose = 'read the budget of a contract';
      const budget = await call({ path, purpose, answer: Budget }, signal);
      requireContract(budget.contractId, contractId, purpose);
      return budget;
    },

    async reportUsage(contractId, entries, signal, notes = {}) {
      const path = `${toPath(contractId)}/usage`;
      const purpose = 'report the usage of a contract';
      const operation = { method: 'POST', path, body: { entries }, purpose, notes } as const;
      const answer = await call({ ...operation, answer: UsageAnswer }, signal);
      requireContract(answer.contractId, contractId, purpose);
      return answer;
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
