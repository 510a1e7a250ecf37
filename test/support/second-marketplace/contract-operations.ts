import type { ContractRecord, Person, WorkDay } from './market-state.ts';
import type { Call, Operation } from './operations.ts';
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
  const linkIds = linkIdsByJob(call);
  const linkId = query.get('projectLinkId');
  const found = [...state.contracts.values()]
    .reverse()
    .filter((one) => linkIds.has(one.jobId) && (status === null || one.status === status))
    .filter(({ jobId }) => linkId === null || linkIds.get(jobId)?.includes(linkId));
  const cursor = state.options.hasCursors === true ? query.get('cursor') : null;
  const begin = cursor === null ? 0 : found.findIndex(({ id }) => id === cursor) + 1;
  const page = found.slice(begin, begin + limit);
  const nextCursor = page.length === limit ? page.at(-1)?.id : null;
  return {
    contracts: page.map((contract) => ({ ...showContract(contract), projectLinkIds: linkIds.get(contract.jobId) })),
    ...(state.options.hasCursors && { nextCursor }),
  };
}

function linkIdsByJob({ install }: Call): Map<string | null, string[]> {
  const links = [...install.links.values()].filter(({ jobId }) => jobId !== null);
  const byJob = Map.groupBy(links, ({ jobId }) => jobId);
  return new Map([...byJob].map(([jobId, ofJob]) => [jobId, ofJob.map(({ id }) => id)]));
}

function contractOf({ state, install, ids: [id = ''] }: Call): ContractRecord {
  const contract = state.contracts.get(id);
  const isLinked = [...install.links.values()].some(({ jobId }) => jobId === contract?.jobId);
  return orNotFound(isLinked ? contract : undefined, 'Contract');
}

function reportUsage(call: Call): object {
  const { state, body } = call;
  const contract = contractOf(call);
  const { people, reported } = contract;
  const [first] = people;
  if (first === undefined) throw new Refusal('CONFLICT', 'the contract has no hired trainer');
  const entries = parseEntries(body, people, state.now().slice(0, 10));
  for (const { workDate, worker = first.opentrainUserId, work } of entries) {
    const key = `${workDate} ${worker}`;
    const stored = reported.get(key);
    const none = { totalSeconds: 0, tasksCompleted: 0, labelsCompleted: 0 };
    reported.set(key, { ...none, ...stored, ...work });
  }
  contract.lastUsageAt = state.now();
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
