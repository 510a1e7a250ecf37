import type { ContractRecord, JobRecord } from './records.ts';

/** Lists of contracts by sequence: a page of the newest costs a page, however many there are. */

type Status = ContractRecord['status'];

export interface ContractQuery {
  jobs: JobRecord[];
  statuses: Status[];
  /** Only older ones than this. */
  before: number;
  limit: number;
}

/** The newest first. */
export function listContracts({ jobs, statuses, before, limit }: ContractQuery): ContractRecord[] {
  const sources = jobs
    .flatMap(({ contracts }) => statuses.map((status) => contracts[status]))
    .map((list) => ({ list, next: indexOf(list, before) - 1 }));
  const page: ContractRecord[] = [];
  while (page.length < limit) {
    const newest = sources.reduce<{ contract: ContractRecord; from: { next: number } } | null>((best, source) => {
      const contract = source.list[source.next];
      if (contract === undefined) return best;
      return best !== null && best.contract.sequence > contract.sequence ? best : { contract, from: source };
    }, null);
    if (newest === null) break;
    newest.from.next -= 1;
    page.push(newest.contract);
  }
  return page;
}

export function moveContract(contract: ContractRecord, status: Status): void {
  const { contracts } = contract.job;
  const from = contracts[contract.status];
  from.splice(indexOf(from, contract.sequence), 1);
  contract.status = status;
  const to = contracts[status];
  to.splice(indexOf(to, contract.sequence), 0, contract);
}

/** How many of the list come before that sequence. */
function indexOf(list: ContractRecord[], sequence: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
