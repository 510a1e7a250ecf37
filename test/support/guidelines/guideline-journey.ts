import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type ApiClient, createApiClient } from '../api-client.ts';
import type { Dialect } from '../databases.ts';
import { openDoccanoFake } from '../doccano-fake.ts';
import { actAs, makeProject } from '../doccano-site.ts';
import { type EmployerJourney, type EmployerOptions, openEmployerJourney } from '../employer-journey.ts';
import { openFakeLabelStudio } from '../label-studio/fake-label-studio.ts';
import { until } from '../until.ts';
import { readHtml, shownByMarkdown } from './read-shown.ts';

/** A tool that shows guidelines over HTTP, with two projects. */
export interface GuidelineTool {
  settings: { adapter: string; [key: string]: unknown };
  projects: readonly [string, string];
  /** The text of a project. */
  read(project: string): Promise<string>;
  /** What trainers read, line by line. */
  shown(project: string): Promise<string[]>;
  /** What a person writes in the tool. */
  edit(project: string, text: string): Promise<unknown>;
}

export const guidelineTools: readonly [string, () => Promise<GuidelineTool>][] = [
  ['Label Studio', openStudio],
  ['doccano', openDoccano],
];

export async function openStudio(): Promise<GuidelineTool> {
  const fake = await openFakeLabelStudio();
  const at = (project: string) => `/api/projects/${project}/`;
  const read = async (project: string) =>
    (await fake.api<{ expert_instruction: string }>('GET', at(project))).expert_instruction;
  return {
    settings: { adapter: 'label-studio', url: fake.url, token: fake.owner.legacyToken, offboarding: 'delete_user' },
    projects: [String(fake.work.addProject('signs').id), String(fake.work.addProject('lamps').id)],
    read,
    shown: async (project) => linesOf(readHtml(await read(project)).structuredText),
    edit: (project, text) => fake.api('PATCH', at(project), { expert_instruction: text }),
  };
}

export async function openDoccano(): Promise<GuidelineTool> {
  const fake = await openDoccanoFake();
  const admin = await actAs(fake, fake.admin);
  const find = (project: string) => admin.ask<DoccanoProject>('GET', `/projects/${project}`);
  const read = async (project: string) => (await find(project)).guideline;
  return {
    settings: { adapter: 'doccano', url: fake.url, ...fake.admin },
    projects: [String(await makeProject(admin, 'signs')), String(await makeProject(admin, 'lamps'))],
    read,
    shown: async (project) => linesOf(shownByMarkdown(await read(project)).structuredText),
    edit: async (project, guideline) => {
      const { resourcetype } = await find(project);
      return await admin.ask('PATCH', `/projects/${project}`, { resourcetype, guideline });
    },
  };
}

interface DoccanoProject {
  guideline: string;
  resourcetype: string;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

export interface GuidelineJourney extends EmployerJourney {
  tool: GuidelineTool;
  api: ApiClient;
  /** A manual of one page for a job, not published yet. */
  write(text: string, jobId: string, precedence?: number): Manual;
  /** Lets the next scheduled pass go by. */
  follow(): Promise<void>;
  /** Why the manuals of the account could not be read at the last try; null if they were. */
  failure(): Promise<string | null | undefined>;
  /** The state of a project as Gangway last saw it, and why. */
  stateOf(project: string): Promise<{ state: string; says: string | null } | undefined>;
}

export interface Manual {
  id: string;
  edit(text: string): void;
  publish(): void;
}

const [everyMs, hourMs] = [15 * 60_000, 60 * 60_000];

/** An employer's account whose manuals follow into a tool by themselves. */
export async function openGuidelineJourney(
  dialect: Pick<Dialect, 'createMigrated'>,
  tool: GuidelineTool,
  options: EmployerOptions = {},
): Promise<GuidelineJourney> {
  const journey = await openEmployerJourney(dialect, { own: { guidelines: true }, ...options, tool });
  const { sandbox, storage, clock, accountId } = journey;
  const { kysely } = storage.database;
  const readings = kysely.selectFrom('job').selectAll().where('kind', '=', 'guidelines');

  async function untilFollowed(): Promise<void> {
    const now = clock.now().toISOString();
    await until(
      'the manuals were read',
      () => readings.execute(),
      (rows) => rows.length > 0 && rows.every(({ dueAt }) => dueAt > now),
    );
  }

  async function hasFailed(): Promise<boolean> {
    return (await readings.where('attempts', '>', 0).execute()).length > 0;
  }

  if (options.own === undefined) await untilFollowed();
  // The links are known by the first reading.
  await journey.pass(60_000);
  return {
    ...journey,
    tool,
    api: createApiClient(journey.consoleUrl),
    write: (text, jobId, precedence = 0) => writeManual(sandbox, accountId, { text, jobId, precedence }),
    async follow() {
      // After a failure it is tried again later than usual: within an hour.
      await journey.pass((await hasFailed()) ? hourMs : everyMs);
      await untilFollowed();
    },
    async failure() {
      return (await readings.where('install', '=', 'own').executeTakeFirst())?.failure;
    },
    async stateOf(project) {
      const row = kysely.selectFrom('guideline').select(['state', 'says']).where('project', '=', project);
      return await row.executeTakeFirst();
    },
  };
}

/** Puts a manual of one page on a job. */
export function writeManual(
  sandbox: Sandbox,
  accountId: string,
  { text, jobId, precedence = 0 }: { text: string; jobId: string; precedence?: number },
): Manual {
  const pages = [{ title: 'Signs', content: pageOf(text) }];
  const bindings = [{ kind: 'JOB' as const, targetId: jobId, precedence }];
  const { manualId, pageIds } = sandbox.createManual(accountId, { bindings, pages });
  return {
    id: manualId,
    edit: (other) => void sandbox.editPage(pageIds[0] ?? '', { content: pageOf(other) }),
    publish: () => void sandbox.publishManual(manualId),
  };
}

export function pageOf(text: string): object {
  return { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text }] }] };
}
