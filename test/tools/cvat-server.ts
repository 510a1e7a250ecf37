import { setTimeout as wait } from 'node:timers/promises';
import type { CvatPerson, CvatSite } from '../support/cvat-stories.ts';

/** Of a CVAT that runs elsewhere: npm and Python's index bring none. */
const variables = {
  url: 'CVAT_URL',
  token: 'CVAT_TOKEN',
  organization: 'CVAT_ORGANIZATION',
} as const;

const password = 'lantern-Ox3-marble';
const types = { accept: 'application/vnd.cvat+json', 'content-type': 'application/json' };

/** A CVAT that was named; null, with a loud line, where none was. */
export function findCvat(): CvatSite | null {
  const { url, token, organization } = {
    url: process.env[variables.url]?.replace(/\/+$/, ''),
    token: process.env[variables.token],
    organization: process.env[variables.organization],
  };
  if (!url || !token || !organization) {
    const names = Object.values(variables).join(', ');
    process.stderr.write(
      `\n*** NOT RUN: name a CVAT to be tried by ${names} (the token of the organization's owner, not read-only) ***\n\n`,
    );
    return null;
  }
  return toSite({ url, token, organization });
}

function toSite(settings: CvatSite['settings']): CvatSite {
  const { url, organization } = settings;
  const query = `org=${encodeURIComponent(organization)}`;
  const asOwner = createAsk(url, `Bearer ${settings.token}`);
  return {
    settings,
    async register(email, username): Promise<CvatPerson> {
      const names = { first_name: 'Made', last_name: 'Up' };
      const passwords = { password1: password, password2: password };
      const body = { username, email, ...names, ...passwords };
      const { key } = await createAsk(url)('POST', '/api/auth/register', body);
      if (typeof key !== 'string') throw new Error('CVAT wants addresses verified: turn that off');
      const ask = createAsk(url, `Token ${key}`);
      const { id } = await ask('GET', '/api/users/self');
      return {
        id: Number(id),
        async isIn() {
          const { results } = await ask('GET', '/api/organizations?page_size=100');
          return (results as { slug: string }[]).some(({ slug }) => slug === organization);
        },
        rename: async (name) => void (await ask('PATCH', `/api/users/${id}`, { username: name })),
      };
    },
    async makeProject() {
      const name = `gangway ${new Date().toISOString()}`;
      const { id } = await asOwner('POST', `/api/projects?${query}`, { name, labels: [] });
      return Number(id);
    },
    async makeTask(project, assigneeId) {
      const wish = { name: 'gangway', project_id: project, assignee_id: assigneeId };
      const { id } = await asOwner('POST', `/api/tasks?${query}`, wish);
      return {
        async assigneeId() {
          const { assignee } = await asOwner('GET', `/api/tasks/${id}`);
          return (assignee as { id: number } | null)?.id ?? null;
        },
      };
    },
  };
}

type Ask = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Requests as one user. Without authorization, about a hundred in a minute are allowed. */
function createAsk(url: string, authorization?: string): Ask {
  return async (method, path, body) => {
    const headers = { ...types, ...(authorization && { authorization }) };
    const sent = { method, headers, signal: AbortSignal.timeout(30_000) };
    const request = () => fetch(`${url}${path}`, { ...sent, ...toSent(body) });
    let response = await request();
    if (response.status === 429) {
      await wait(60_000);
      response = await request();
    }
    if (!response.ok) throw new Error(`${method} ${path.split('?')[0]}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

function toSent(body: object | undefined): { body?: string } {
  return body === undefined ? {} : { body: JSON.stringify(body) };
}
