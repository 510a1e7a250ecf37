import { AppError } from '../../domain/errors.ts';
import type { Call, Operation } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import type { EndApproval, Source } from '../source.ts';
import { ApprovalAnswer, EndAnswer } from './employer-schema.ts';

type EndCalls = Required<Pick<Source, 'endContract' | 'readApproval'>>;

/** The end of a contract, and the approval that a person confirms (spec: part A sections 2.6 and 4.6). */
export function createEndCalls(call: Call): EndCalls {
  return {
    async endContract(contractId, signal) {
      const purpose = 'end a contract';
      const operation: Operation<EndAnswer> = {
        method: 'POST',
        path: `/contracts/${toSegment(contractId)}/end`,
        purpose,
        answer: EndAnswer,
      };
      const { approval } = await call(operation, signal).catch(endedBefore);
      if (approval === undefined) return null;
      return requireApproval(approval, approval.contractId === contractId, purpose);
    },

    async readApproval(approvalId, signal) {
      const purpose = 'read an approval';
      const path = `/approvals/${toSegment(approvalId)}`;
      const { approval } = await call({ path, purpose, answer: ApprovalAnswer }, signal);
      return requireApproval(approval, approval.id === approvalId, purpose);
    },
  };
}

/** The only conflict that there is: the contract has ended. */
function endedBefore(error: unknown): EndAnswer {
  if (error instanceof AppError && error.code === 'conflict') return {};
  throw error;
}

/** What a person decided about something else must not count. */
function requireApproval(
  { id, status, approvalUrl, expiresAt }: ApprovalAnswer['approval'],
  isOwn: boolean,
  purpose: string,
): EndApproval {
  if (isOwn) return { id, status, url: approvalUrl ?? null, expiresAt: expiresAt ?? null };
  throw new AppError('invalid', `Could not ${purpose}: the answer is about another contract`);
}
