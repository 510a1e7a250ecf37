import { expect } from 'vitest';
import type { BrowserSession, LabelStudioSite } from './label-studio-client.ts';

/** What people do in a Label Studio once they are in. */

const labelConfig =
  '<View><Text name="t" value="$text"/><Choices name="c" toName="t"><Choice value="yes"/></Choices></View>';

export async function addProject(site: LabelStudioSite, title: string, count: number) {
  const { id } = await site.api<{ id: number }>('POST', '/api/projects/', { title, label_config: labelConfig });
  const data = Array.from({ length: count }, (_, index) => ({ text: String(index) }));
  await site.api('POST', `/api/projects/${id}/import`, data);
  const { tasks } = await site.api<{ tasks: { id: number }[] }>('GET', `/api/tasks/?project=${id}&page_size=1000`);
  return { id, tasks: tasks.map((task) => task.id) };
}

/** What the owner does to whole tasks at once, from the Data Manager. */
export async function actOnTasks(
  site: LabelStudioSite,
  action: 'delete_tasks' | 'delete_tasks_annotations',
  project: number,
  tasks: readonly number[],
): Promise<void> {
  const selectedItems = { all: false, included: tasks };
  await site.api('POST', `/api/dm/actions/?id=${action}&project=${project}`, { selectedItems });
}

export async function annotate(session: BrowserSession, task: number, body: object): Promise<number> {
  const answer = await session.call('POST', `/api/tasks/${task}/annotations/`, body);
  expect(answer.status).toBe(201);
  return (answer.body as { id: number }).id;
}

export function regions(...ids: string[]): object[] {
  return ids.map((id) => ({ id, from_name: 'c', to_name: 't', type: 'choices', value: { choices: ['yes'] } }));
}

export async function projectsOf(session: BrowserSession): Promise<number[]> {
  const { status, body } = await session.call('GET', '/api/projects/');
  expect(status).toBe(200);
  return (body as { results: { id: number }[] }).results.map(({ id }) => id);
}

export async function tokenOf(session: BrowserSession): Promise<string> {
  const { body } = await session.call('GET', '/api/current-user/token');
  return (body as { token: string }).token;
}

/**
 * A trainer who has logged in, and uses the API with the token of their account.
 *
 * @param site asked at each call, because it may have started again
 */
export async function workAs(
  site: () => LabelStudioSite,
  { username, password }: { username: string; password: string },
): Promise<{ userId: number; session: BrowserSession }> {
  const browser = await site().signIn(username, password);
  if (browser === null) throw new Error('the form refuses them');
  const authorization = `Token ${await tokenOf(browser)}`;
  const call: BrowserSession['call'] = (method, path, body) => site().callAs(authorization, path, method, body);
  const { body } = await call('GET', '/api/current-user/whoami');
  return { userId: (body as { id: number }).id, session: { call } };
}

export interface ExportedTask {
  id: number;
  annotations: {
    id: number;
    completed_by: number | null;
    created_at: string;
    updated_at: string;
    lead_time: number;
    was_cancelled: boolean;
    result: { id: string }[];
  }[];
}

/**
 * Label Studio's own export of a project, which Gangway does not use. One at a time: Label Studio names the file by
 * project, minute and content, empties it and writes it anew, so that another export of the same project may find it
 * empty meanwhile.
 */
export async function exportTasks(site: LabelStudioSite, project: number, query = ''): Promise<ExportedTask[]> {
  const path = `/api/projects/${project}/export?exportType=JSON${query}`;
  const { status, body } = await site.callAs(`Token ${site.owner.legacyToken}`, path);
  if (status === 200 && Array.isArray(body)) return body;
  throw new Error(`GET ${path} answered ${status} and no list: ${JSON.stringify(body).slice(0, 200)}`);
}

export async function accountIds(site: LabelStudioSite): Promise<number[]> {
  return (await site.api<{ id: number }[]>('GET', '/api/users/')).map(({ id }) => id);
}
