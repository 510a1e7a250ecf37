import { listContracts } from './contract-list.ts';
import { tellBudget } from './happenings.ts';
import type { Call, Operation } from './operations.ts';
import type { ContractRecord, JobRecord } from './records.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';
import { showBudget, showContract, showPerson } from './shapes.ts';
import { parseEntries } from './usage-entries.ts';

export const contractOperations: Operation[] = [
  { method: 'GET', path: '/contracts', scopes: ['contracts:read'], answer: list },
  {
    method: 'GET',
    path: '/contracts/{id}/participants',
    scopes: ['participants:read'],
    answer(call) {
      const { id, people } = contractOf(call);
      const participants = people.map((person) => showPerson(person, call.install));
      return { contractId: id, participants };
    },
  },
  {
    method: 'GET',
    path: '/contracts/{id}/budget',
    scopes: ['contracts:read'],
    answer: (call) => showBudget(contractOf(call)),
  },
  { method: 'POST', path: '/contracts/{id}/usage', scopes: ['usage:write'], answer: reportUsage },
];

function list(call: Call): object {
  const { state, query } = call;
  const limit = Number(query.get('limit') ?? 50);
  demand(Number.isInteger(limit) && limit >= 1 && limit <= 200, 'limit is 1 to 200');
  const status = query.get('status');
  demand(status === null || status === 'active' || status === 'ended', 'status is unknown');
  const cursor = state.options.hasCursors === true ? query.get('cursor') : null;
  const before = cursor === null ? Number.POSITIVE_INFINITY : Number(cursor.replace('after-', ''));
  demand(!Number.isNaN(before), 'cursor is not valid');
  const linkIds = linkIdsByJob(call);
  const page = listContracts({
    jobs: jobsAskedFor(call, linkIds),
    statuses: status === null ? ['active', 'ended'] : [status],
    before,
    limit,
  });
  const last = page.length === limit ? page.at(-1) : undefined;
  return {
    contracts: page.map((contract) => ({
      ...showContract(contract),
      projectLinkIds: linkIds.get(contract.job.id) ?? [],
    })),
    ...(state.options.hasCursors && { nextCursor: last ? `after-${last.sequence}` : null }),
  };
}

function linkIdsByJob({ install }: Call): Map<string, string[]> {
  const byJob = new Map<string, string[]>();
  for (const { id, jobId } of install.links.values()) {
    if (jobId !== null) byJob.set(jobId, [...(byJob.get(jobId) ?? []), id]);
  }
  return byJob;
}

function jobsAskedFor({ state, install, query }: Call, linkIds: ReadonlyMap<string, string[]>): JobRecord[] {
  const linkId = query.get('projectLinkId');
  const jobIds = linkId === null ? [...linkIds.keys()] : [install.links.get(linkId)?.jobId ?? ''];
  return jobIds.flatMap((jobId) => state.jobs.get(jobId) ?? []);
}

function contractOf({ state, install, ids: [id = ''] }: Call): ContractRecord {
  const contract = state.contracts.get(id);
  const isLinked = [...install.links.values()].some(({ jobId }) => jobId === contract?.job.id);
  return orNotFound(isLinked ? contract : undefined, 'Contract');
}

function reportUsage(call: Call): object {
  const { state, body } = call;
  const contract = contractOf(call);
  const { people, budget } = contract;
  const [first] = people;
  if (first === undefined) throw new Refusal('CONFLICT', 'the contract has no hired trainer');
  const entries = parseEntries(body, people, state.now().slice(0, 10));
  for (const { workDate, worker = first.opentrainUserId, work } of entries) {
    const key = `${workDate} ${worker}`;
    const stored = budget.reported.get(key);
    const none = { totalSeconds: 0, tasksCompleted: 0, labelsCompleted: 0 };
    budget.reported.set(key, { ...none, ...stored, ...work });
  }
  budget.lastUsageAt = state.now();
  tellBudget(state, contract);
  return { contractId: contract.id, accepted: entries.length, budget: showBudget(contract) };
}
