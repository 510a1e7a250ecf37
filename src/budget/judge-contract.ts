import { type ContractRegisters, statusOfContract } from '../domain/evidence-status.ts';

/** A contract, and how far the reading of its budget has come. */
export interface SweptContract extends ContractRegisters {
  install: string;
  contractId: string;
  budgetEventAt: string | null;
  /** Whether anything is known of its budget. */
  isKnown: boolean;
  nextReadAt: string | null;
  metEventAt: string | null;
  notFoundAt: string | null;
}

export interface ContractFooting {
  /** Whether any of its links is live. */
  isLinked: boolean;
  /** Whether the grant of its install is live. */
  isGranted: boolean;
}

/** To read the budget now, to stop reading it, or to change nothing. */
export type Judgement = 'read' | 'end' | 'leave';

/**
 * Pure: whether the evidence asks for a reading. It does when a contract begins, when an event has mentioned its
 * budget since the last request, and when there is new evidence of a contract that was not found.
 */
export function judgeContract(contract: SweptContract, footing: ContractFooting): Judgement {
  const { nextReadAt, budgetEventAt, metEventAt } = contract;
  if (!isActive(contract, footing)) return nextReadAt === null ? 'leave' : 'end';
  if (nextReadAt === null) return 'read';
  if (budgetEventAt !== null && budgetEventAt > (metEventAt ?? '')) return 'read';
  return isHeardOfAgain(contract) ? 'read' : 'leave';
}

function isActive(contract: ContractRegisters, { isLinked, isGranted }: ContractFooting) {
  const status = statusOfContract(contract);
  return isLinked && isGranted && (status === 'active' || status === 'disputed');
}

function isHeardOfAgain({ notFoundAt, startedEventAt, activeReadAt }: SweptContract): boolean {
  if (notFoundAt === null) return false;
  return [startedEventAt, activeReadAt].some((heardAt) => heardAt !== null && heardAt > notFoundAt);
}
