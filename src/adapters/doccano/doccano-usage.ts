import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { UsageNote, UsageObservation } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { projectPath } from './doccano-api.ts';
import { readProject } from './doccano-members.ts';
import { Distribution, MemberProgress, Users } from './doccano-schema.ts';

/** The counts of each person in a project. They are totals, because doccano stores no times. */

/** The kinds of labels by type of project. doccano counts no labels of the other types. */
const labelKinds = new Map([
  ['DocumentClassification', ['category']],
  ['ImageClassification', ['category']],
  ['SequenceLabeling', ['span', 'relation']],
  ['IntentDetectionAndSlotFilling', ['category', 'span']],
]);

/** Everyone who has confirmed an example or is a member, also without any work. */
export async function* readDoccanoUsage(
  api: RestClient,
  groupId: string,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation | UsageNote> {
  const { project_type: type } = await readProject(api, groupId, signal);
  const metrics = `${projectPath(groupId)}/metrics`;
  const request = { path: `${metrics}/member-progress`, purpose: 'read the progress' };
  const { progress } = await api.call({ ...request, answer: MemberProgress, signal });
  const labels = await readLabels(api, metrics, labelKinds.get(type) ?? [], signal);
  if (labels === null) yield { of: 'gap', says: noLabels };
  // Last, so that new members are known. Not only the members, because some have left.
  const users = await api.call({ path: '/users', purpose: 'list the accounts', answer: Users, signal });
  const ids = new Map(users.map(({ id, username }) => [username, String(id)]));
  for (const { user, done } of progress) {
    const memberId = ids.get(user);
    if (memberId === undefined) {
      throw new AppError('unavailable', 'An account was renamed or deleted while the work was read');
    }
    const count = labels?.get(user);
    yield { memberId, email: user, of: 'total', tasks: done, ...(count !== undefined && { labels: count }) };
  }
}

/** By current member; null if doccano cannot count. */
async function readLabels(
  api: RestClient,
  metrics: string,
  kinds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, number> | null> {
  const totals = new Map<string, number>();
  for (const kind of kinds) {
    const call = { path: `${metrics}/${kind}-distribution`, purpose: 'count the labels', answer: Distribution, signal };
    // If a project has labels of a former member, doccano answers the count of labels with status 500. Waiting does
    // not help, and the rest of the work can still be counted.
    const distribution = await unless([500], api.call(call));
    if (distribution === null) return null;
    for (const [user, count] of distribution) totals.set(user, (totals.get(user) ?? 0) + count);
  }
  return totals;
}

const noLabels =
  'doccano counts no labels in a project that has labels of a former member: add the member again, or delete those labels';
