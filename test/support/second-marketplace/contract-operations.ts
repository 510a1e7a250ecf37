import { listContracts, tellBudget } from './happenings.ts';
import type { Call, Operation } from './operations.ts';
import type { ContractRecord, JobRecord, Person, WorkDay } from './records.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';
import { showBudget, showContract, showPerson } from './shapes.ts';

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

interface UsageEntry {
  workDate: string;
  worker: string | undefined;
  /** A missing field keeps its value. */
  work: Partial<WorkDay>;
}

const fields = ['totalSeconds', 'tasksCompleted', 'labelsCompleted'] as const;

/** @throws Refusal `BAD_REQUEST` for the whole of it where one entry is wrong */
function parseEntries(body: Call['body'], people: Person[], today: string): UsageEntry[] {
  const { entries } = body;
  demand(Array.isArray(entries), 'entries is required');
  demand(entries.length >= 1 && entries.length <= 100, 'entries are 1 to 100');
  return entries.map((entry: unknown) => parseEntry(entry, people, today));
}

function parseEntry(entry: unknown, people: Person[], today: string): UsageEntry {
  demand(typeof entry === 'object' && entry !== null, 'an entry is an object');
  const given = new Map(Object.entries(entry));
  const workDate: unknown = given.get('workDate');
  demand(typeof workDate === 'string' && isDay(workDate), 'workDate is not a day');
  demand(workDate <= today, 'workDate is in the future');
  const worker: unknown = given.get('workerOpentrainUserId');
  const isOnIt = people.some(({ opentrainUserId }) => opentrainUserId === worker);
  demand(worker === undefined || isOnIt, 'the worker is no participant');
  const work: Partial<WorkDay> = {};
  for (const field of fields) {
    const value: unknown = given.get(field);
    if (value === undefined) continue;
    const most = field === 'totalSeconds' ? 86_400 : Number.MAX_SAFE_INTEGER;
    demand(isCount(value) && value <= most, `${field} is out of range`);
    work[field] = value;
  }
  return { workDate, worker: typeof worker === 'string' ? worker : undefined, work };
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
