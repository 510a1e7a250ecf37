import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { UsageNote, UsageObservation, UsageRequest } from '../adapter.ts';
import { listUsers, requireProject } from './label-studio-api.ts';
import { type Annotation, TaskPage } from './label-studio-schema.ts';
import { isMember, toMember } from './members.ts';

const tasksOnPage = 100;
/** The fields of tasks and of annotations. Without it the answer has their data and drafts too. */
const include = 'id,annotations,completed_by,was_cancelled,created_at,updated_at,lead_time,result';

/** A day begins at most this much before it begins in UTC. Milliseconds. */
const earliestZoneMs = 14 * 3_600_000;
/** The time of a task is a moment later than the time of its annotation. Milliseconds. */
const slackMs = 60_000;

/**
 * The annotations of a project, each as one piece of work, and the existing tasks. Tasks are read in the
 * order of their ids, so that no task is missed if others are added or deleted. A change of an
 * annotation also changes the time of its task, so unchanged tasks need not be read.
 *
 * @throws AppError `invalid` for an id that is not a number, `not_found` for a project that does not exist
 */
export async function* readWork(
  api: RestClient,
  project: string,
  request: UsageRequest,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation | UsageNote> {
  requireProject(project);
  const addressOf = createAddressBook(api, signal);
  for await (const { id, annotations } of readTasks(api, project, sinceOf(request), signal)) {
    yield { of: 'task', taskId: String(id), isWhole: true };
    for (const annotation of annotations) {
      const observation = toObservation(String(id), annotation);
      if (observation !== null) yield { ...observation, email: await addressOf(observation.memberId) };
    }
  }
}

/** Tasks have only the ids of people. For an unknown id the list is read again: the user may be new. */
function createAddressBook(api: RestClient, signal: AbortSignal) {
  const known = new Map<string, string | null>();
  return async (memberId: string): Promise<string | null> => {
    if (!known.has(memberId)) {
      for await (const user of listUsers(api, signal)) {
        const { id, email } = toMember(user);
        known.set(id, isMember(user) ? email : null);
      }
    }
    const email = known.get(memberId) ?? null;
    known.set(memberId, email);
    return email;
  };
}

async function* readTasks(
  api: RestClient,
  project: string,
  updatedSince: string,
  signal: AbortSignal,
): AsyncGenerator<TaskPage['tasks'][number]> {
  let afterId = 0;
  for (;;) {
    const path = `/api/tasks/?${toSearch(project, afterId, updatedSince)}`;
    const { tasks, total } = await api.call({ path, purpose: 'read the work', answer: TaskPage, signal });
    yield* tasks;
    // `total` counts the tasks after `afterId`, with those of this page.
    if (total <= tasks.length) return;
    const lastId = tasks.at(-1)?.id ?? 0;
    if (lastId <= afterId) {
      throw new AppError('unavailable', `Could not read the work: ${total} tasks were not sent`);
    }
    afterId = lastId;
  }
}

/** By id and not by page number, so that no task moves to a page that was read already. */
function toSearch(project: string, afterId: number, updatedSince: string): URLSearchParams {
  const items = [
    { filter: 'filter:tasks:id', operator: 'greater', type: 'Number', value: afterId },
    { filter: 'filter:tasks:updated_at', operator: 'greater_or_equal', type: 'Datetime', value: updatedSince },
  ];
  const query = { filters: { conjunction: 'and', items }, ordering: ['tasks:id'] };
  return new URLSearchParams({
    project,
    fields: 'all',
    include,
    page: '1',
    page_size: String(tasksOnPage),
    query: JSON.stringify(query),
  });
}

/** Adding, changing or deleting an annotation changes the time of its task. */
function sinceOf({ firstDay, changedSince }: UsageRequest): string {
  const firstMs = Date.parse(firstDay) - earliestZoneMs;
  const changedMs = changedSince === null ? firstMs : Date.parse(changedSince) - slackMs;
  return new Date(Math.max(firstMs, changedMs)).toISOString();
}

/** Null if the user was deleted. */
function toObservation(taskId: string, annotation: Annotation): UsageObservation | null {
  const { id, completed_by: memberId, created_at: doneAt, updated_at: changedAt } = annotation;
  if (memberId === null) return null;
  // A skipped task took time, but has no result.
  const isSkipped = annotation.was_cancelled === true;
  return {
    of: 'item',
    memberId: String(memberId),
    itemId: String(id),
    taskId,
    doneAt,
    changedAt,
    ...(typeof annotation.lead_time === 'number' && { seconds: Math.max(annotation.lead_time, 0) }),
    tasks: isSkipped ? 0 : 1,
    labels: isSkipped ? 0 : countRegions(annotation.result ?? []),
  };
}

/** An entry without an id, as an import or a script may write it, is a region of its own. A relation is not a region. */
function countRegions(result: NonNullable<Annotation['result']>): number {
  const entries = result.filter(({ type }) => type !== 'relation');
  const ids = entries.flatMap(({ id }) => id ?? []);
  return new Set(ids).size + entries.length - ids.length;
}
