import type { Services } from '../app/services.ts';
import { AppError } from '../domain/errors.ts';
import { addLink, findLink, removeLink } from '../operator/links/change-links.ts';
import { examineLink } from '../operator/links/examine-link.ts';
import { type ListedLinks, listLinks } from '../operator/links/list-links.ts';
import type { Printed } from './define-command.ts';
import { pickInstall, pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway links`: which projects are linked at the marketplace. */

export async function runLinksList(
  { install }: { install: string | undefined },
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const listed = await listLinks(services, pickInstalls(session, services.installs, install), terminal.signal);
  return printLinks(listed);
}

export function printLinks(listed: ListedLinks): Printed {
  const [unread] = listed.unread;
  return {
    data: listed,
    text: () => formatList(listed.links, columns, 'No project is linked.'),
    problems: unread === undefined ? [] : [`${unread.install}: ${unread.failure}`],
    status: unread === undefined ? 0 : 1,
  };
}

type ListedLink = ListedLinks['links'][number];

const columns: Columns<ListedLink> = [
  ['install', ({ install }) => install],
  ['link', ({ linkId }) => linkId],
  ['project', ({ project }) => project],
  ['job', ({ jobId }) => jobId ?? '(none)'],
  ['leads', leadsOf],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['work', workOf],
  ['name', ({ name }) => name],
];

function workOf({ work }: ListedLink): string {
  if (work === null) return '';
  const { state, readAt, failure } = work;
  if (state === 'read') return `read ${readAt}`;
  if (state === 'unread') return 'not read yet';
  const never = readAt === null ? 'never read' : `read last ${readAt}`;
  return state === 'gone' ? `gone, ${never}` : `${never}: ${failure}`;
}

function leadsOf({ leads, outside }: ListedLink): string {
  return outside === null ? leads : `${leads} (${outside.replace('_', ' ')})`;
}

export interface NewLink {
  project: string;
  install: string | undefined;
  job: string | undefined;
  name: string | undefined;
  url: string | undefined;
  managed: boolean;
}

export async function runLinksAdd(
  { project, install: named, job, name, url, managed }: NewLink,
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const install = pickInstall(session, services.installs, named);
  const wanted = {
    externalProjectId: project,
    ...(job !== undefined && { jobId: job }),
    ...(name !== undefined && { externalProjectName: name }),
    ...(url !== undefined && { externalProjectUrl: url }),
    ...(managed && { provisioningMode: 'MANAGED_ADAPTER' as const }),
  };
  const source = sourceOf(services, install);
  const link = await addLink(services, decidedBy(), source, install, wanted, terminal.signal);
  const warnings = await examineLink(services, source, install, link, terminal.signal);
  return printLinked({ install, linkId: link.id, project, warnings });
}

export interface Linked {
  install: string;
  linkId: string;
  project: string;
}

export function printLinked(linked: Linked & { warnings: string[] }): Printed {
  const problems = linked.warnings.map((says) => `Warning: ${says}`);
  return { data: linked, text: () => `Linked ${linked.project}: ${linked.linkId}`, problems };
}

export interface NamedLink {
  link: string;
  install: string | undefined;
  yes: boolean;
}

export async function runLinksRemove(
  { link, install: named, yes }: NamedLink,
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const { signal } = terminal;
  const install = pickInstall(session, services.installs, named);
  const source = sourceOf(services, install);
  const found = await findLink(source, link, signal);
  const { id, externalProjectId: project } = found;
  if (yes) await removeLink(services, decidedBy(), source, install, found, signal);
  return printUnlinked({ install, linkId: id, project }, yes);
}

export function printUnlinked(link: Linked, isRemoved: boolean): Printed {
  const what = `the link ${link.linkId} of ${link.install} to ${link.project}`;
  return {
    data: { ...link, isRemoved },
    text: () =>
      isRemoved
        ? `Removed ${what}; people are taken out after the grace, unless it is linked again.`
        : `This would remove ${what}. Nothing was done: --yes removes it.`,
  };
}

function sourceOf({ sources }: Pick<Services, 'sources'>, install: string) {
  const source = sources.get(install);
  if (source === undefined) throw new AppError('not_found', `There is no install "${install}"`);
  return source;
}
