import type { Day } from '../../domain/usage.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';

/** What a run is to report. */
export interface ReportWanted {
  installs: readonly string[];
  contractId?: string | undefined;
  /** Inclusive. */
  from?: Day | undefined;
  to?: Day | undefined;
  /** Whether an operator accepts all that the run would lower. */
  acceptsLowered?: boolean | undefined;
}

export function isWanted(
  { install, contractId, day }: Pick<DueDay, 'install' | 'contractId' | 'day'>,
  wanted: ReportWanted,
): boolean {
  const { from = '', to = '9999-12-31' } = wanted;
  const isOf = wanted.contractId === undefined || wanted.contractId === contractId;
  return wanted.installs.includes(install) && isOf && day >= from && day <= to;
}

/** Whether held work may be of an install, as far as it is wanted. */
export function mayBeOf({ observation, contracts }: HeldWork, install: string, wanted: ReportWanted): boolean {
  const { day } = observation;
  return contracts.some((one) => one.install === install && isWanted({ ...one, day }, wanted));
}
