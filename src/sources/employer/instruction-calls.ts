import type { Call } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { Publication } from '../publication.ts';
import type { Source } from '../source.ts';
import { type Manual, ManualAnswer, ManualList, WorkspaceList } from './instruction-schema.ts';
import { createReadPublication, toManualPath } from './read-publication.ts';

type InstructionCalls = Required<Pick<Source, 'readPublications'>>;

/** The manuals of jobs, and what they have published for trainers (spec: part B section 4.1). */
export function createInstructionCalls(call: Call): InstructionCalls {
  const readPublication = createReadPublication(call);

  async function bindingsOf({ id, bindings }: Manual, signal: AbortSignal) {
    if (bindings !== undefined) return bindings;
    const operation = { path: toManualPath(id), purpose: 'read a manual', answer: ManualAnswer };
    return (await call(operation, signal)).manual.bindings ?? [];
  }

  /** The manuals of each job, the one that wins first. */
  async function manualsOfJobs(jobIds: ReadonlySet<string>, signal: AbortSignal): Promise<Map<string, string[]>> {
    const bound: { jobId: string; manualId: string; precedence: number }[] = [];
    for (const manual of await listManuals(call, signal)) {
      for (const { kind, targetId, precedence } of await bindingsOf(manual, signal)) {
        if (kind === 'JOB' && jobIds.has(targetId)) bound.push({ jobId: targetId, manualId: manual.id, precedence });
      }
    }
    bound.sort((one, other) => one.precedence - other.precedence || (one.manualId < other.manualId ? -1 : 1));
    const ofJobs = Map.groupBy(bound, ({ jobId }) => jobId);
    return new Map([...ofJobs].map(([jobId, all]) => [jobId, all.map(({ manualId }) => manualId)]));
  }

  return {
    async readPublications(jobIds, signal) {
      const read = new Map<string, Publication | null>();
      async function readOnce(manualId: string): Promise<Publication | null> {
        if (!read.has(manualId)) read.set(manualId, await readPublication(manualId, signal));
        return read.get(manualId) ?? null;
      }
      const found = new Map<string, Publication>();
      for (const [jobId, manualIds] of await manualsOfJobs(new Set(jobIds), signal)) {
        const publication = await firstOf(manualIds, readOnce);
        if (publication !== null) found.set(jobId, publication);
      }
      return found;
    },
  };
}

async function firstOf<T>(keys: readonly string[], read: (key: string) => Promise<T | null>): Promise<T | null> {
  for (const key of keys) {
    const value = await read(key);
    if (value !== null) return value;
  }
  return null;
}

async function listManuals(call: Call, signal: AbortSignal): Promise<Manual[]> {
  const purpose = 'list the workspaces with manuals';
  const workspaces = await listWhole<{ id: string }>({
    path: '/instructions/workspaces',
    purpose,
    keyOf: ({ id }) => id,
    async readPage(path) {
      const { workspaces: records, ...paging } = await call({ path, purpose, answer: WorkspaceList }, signal);
      return { records, ...paging };
    },
  });
  const manuals: Manual[] = [];
  for (const { id } of workspaces) manuals.push(...(await listManualsOf(call, id, signal)));
  return manuals;
}

async function listManualsOf(call: Call, workspaceId: string, signal: AbortSignal): Promise<Manual[]> {
  const purpose = 'list the manuals of a workspace';
  return await listWhole<Manual>({
    path: `/instructions/workspaces/${toSegment(workspaceId)}/manuals`,
    purpose,
    keyOf: ({ id }) => id,
    async readPage(path) {
      const { manuals: records, ...paging } = await call({ path, purpose, answer: ManualList }, signal);
      return { records, ...paging };
    },
  });
}
