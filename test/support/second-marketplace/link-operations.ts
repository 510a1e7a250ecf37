import { raiseEvent } from './deliveries.ts';
import type { Call, Operation } from './operations.ts';
import type { LinkRecord } from './records.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';
import { showLink } from './shapes.ts';

const write = ['project-links:write'];
const read = ['project-links:read', ...write];
const modes = ['PARTNER_WEBHOOK', 'MANAGED_ADAPTER'];

export const linkOperations: Operation[] = [
  {
    method: 'GET',
    path: '/project-links',
    scopes: read,
    answer: ({ install }) => ({
      projectLinks: [...install.links.values()].reverse().map(showLink),
    }),
  },
  {
    method: 'GET',
    path: '/project-links/{id}',
    scopes: read,
    answer: (call) => ({ projectLink: showLink(linkOf(call)) }),
  },
  { method: 'POST', path: '/project-links', scopes: write, status: 201, answer: createLink },
  {
    method: 'DELETE',
    path: '/project-links/{id}',
    scopes: write,
    answer(call) {
      const link = linkOf(call);
      call.install.links.delete(link.id);
      tell(call, 'project_link.removed', link);
      return { projectLink: showLink(link), deleted: true };
    },
  },
];

function linkOf({ install, ids: [id = ''] }: Call): LinkRecord {
  return orNotFound(install.links.get(id), 'Project link');
}

function createLink(call: Call): object {
  const { state, install, body } = call;
  const externalProjectId = textOf(body, 'externalProjectId', 200);
  demand(externalProjectId !== null && externalProjectId !== '', 'externalProjectId is required');
  const provisioningMode = textOf(body, 'provisioningMode', 100) ?? 'PARTNER_WEBHOOK';
  demand(modes.includes(provisioningMode), 'provisioningMode is unknown');
  const link: LinkRecord = {
    id: state.nextId('lnk'),
    jobId: textOf(body, 'jobId', 200),
    externalProjectId,
    externalProjectName: textOf(body, 'externalProjectName', 300),
    externalProjectUrl: textOf(body, 'externalProjectUrl', 2048),
    provisioningMode,
    createdAt: state.now(),
  };
  if (link.jobId !== null) {
    const job = state.jobs.get(link.jobId);
    const isOwn = job?.organizationId === install.organizationId;
    orNotFound(isOwn ? job : undefined, 'Job');
  }
  const links = [...install.links.values()];
  if (links.some((other) => other.externalProjectId === externalProjectId)) {
    throw new Refusal('CONFLICT', 'externalProjectId is linked already');
  }
  if (links.length >= (state.options.linksPerInstall ?? 500)) {
    throw new Refusal('CONFLICT', 'the install has as many links as it may have');
  }
  install.links.set(link.id, link);
  tell(call, 'project_link.created', link);
  return { projectLink: showLink(link) };
}

function textOf(body: Call['body'], name: string, longest: number): string | null {
  const value = body[name] ?? null;
  if (value === null) return null;
  demand(typeof value === 'string' && value.length <= longest, `${name} is not valid`);
  return value;
}

function tell({ state, install }: Call, type: string, link: LinkRecord): void {
  const data = { projectLink: showLink(link) };
  raiseEvent(state, install, { type, resourceId: link.id, jobId: link.jobId, data });
}
