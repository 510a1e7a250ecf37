import { AppError } from '../../domain/errors.ts';
import type { UsageNote, UsageObservation, UsageRequest } from '../adapter.ts';
import { isMember, toMember } from './find-user.ts';
import type { LabelStudioApi } from './label-studio-api.ts';
import type { Annotation, TaskPage } from './label-studio-schema.ts';

/** A day may begin this much before it begins in UTC. Milliseconds. */
const earliestZoneMs = 14 * 3_600_000;
/** A task is stamped a moment after its annotation, which is what was asked about. */
const slackMs = 60_000;

/**
 * The annotations of a project, each as one piece of work, and the tasks that there are. Tasks are
 * read in the order of their ids, so that what is added or deleted meanwhile hides none of the
 * others. Whatever happens to an annotation stamps its task, so those that were not changed since
 * hold no work that is asked for.
 *
 * @throws AppError `invalid` for what cannot be a project, `not_found` for one that is not there
 */
export async function* readWork(
  api: LabelStudioApi,
  project: string,
  request: UsageRequest,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation | UsageNote> {
  if (!/^[1-9]\d{0,14}$/.test(project)) {
    throw new AppError('invalid', 'Could not read the work: a project is a number in Label Studio');
  }
  const addressOf = createAddressBook(api, signal);
  for await (const { id, annotations } of readTasks(api, project, sinceOf(request), signal)) {
    yield { of: 'task', taskId: String(id) };
    for (const annotation of annotations) {
      const observation = toObservation(String(id), annotation);
      if (observation !== null) yield { ...observation, email: await addressOf(observation.memberId) };
    }
  }
}

/** Tasks name people by their ids alone. Who is not listed yet may have come after the list was read. */
function createAddressBook(api: LabelStudioApi, signal: AbortSignal) {
  const known = new Map<string, string | null>();
  return async (memberId: string): Promise<string | null> => {
    if (!known.has(memberId)) {
      for await (const user of api.users(signal)) {
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
  api: LabelStudioApi,
  project: string,
  updatedSince: string,
  signal: AbortSignal,
): AsyncGenerator<TaskPage['tasks'][number]> {
  let afterId = 0;
  for (;;) {
    const { tasks, total } = await api.taskPage({ project, afterId, updatedSince }, signal);
    yield* tasks;
    // Those after `afterId` as it was before this page.
    if (total <= tasks.length) return;
    const lastId = tasks.at(-1)?.id ?? 0;
    if (lastId <= afterId) {
      throw new AppError('unavailable', `Could not read the work: ${total} tasks do not come`);
    }
    afterId = lastId;
  }
}

/** Changing an annotation stamps its task, and so does adding or deleting one. */
function sinceOf({ firstDay, changedSince }: UsageRequest): string {
  const firstMs = Date.parse(firstDay) - earliestZoneMs;
  const changedMs = changedSince === null ? firstMs : Date.parse(changedSince) - slackMs;
  return new Date(Math.max(firstMs, changedMs)).toISOString();
}

/** Null where it is nobody's any more. */
function toObservation(taskId: string, annotation: Annotation): UsageObservation | null {
  const { id, completed_by: memberId, created_at: doneAt, updated_at: changedAt } = annotation;
  if (memberId === null) return null;
  // A skipped task took its time, and nothing came of it.
  const isSkipped = annotation.was_cancelled === true;
  const regions = new Set(annotation.result?.flatMap((entry) => entry.id ?? []));
  return {
    of: 'item',
    memberId: String(memberId),
    itemId: String(id),
    taskId,
    doneAt,
    changedAt,
    ...(typeof annotation.lead_time === 'number' && { seconds: Math.max(annotation.lead_time, 0) }),
    tasks: isSkipped ? 0 : 1,
    labels: isSkipped ? 0 : regions.size,
  };
}
