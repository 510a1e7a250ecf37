/** How the owner and other people use a Label Studio, whether it is a real one or a fake. */
export interface LabelStudioSite {
  url: string;
  version: string;
  owner: { email: string; password: string; legacyToken: string };
  /** The owner's personal access token: Label Studio makes them one, and no second. */
  personalToken(): Promise<string>;
  /** As the owner, over the API. Throws for anything but a 2xx. */
  api<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Null where the login form refuses them. */
  signIn(email: string, password: string): Promise<BrowserSession | null>;
  /** By a link that they were given; null where the form refuses them. */
  signUp(link: string, email: string, password: string): Promise<BrowserSession | null>;
  /** The API with a value for `Authorization`. */
  callAs(authorization: string, path: string, method?: string, body?: unknown): Promise<ApiAnswer>;
}

export interface ApiAnswer {
  status: number;
  /** JSON, or the text of a page. */
  body: unknown;
}

/** What a person has in their browser: a cookie, and nothing else. */
export interface BrowserSession {
  /** The API as the pages in the browser use it. */
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
}

export function createLabelStudioSite({
  url,
  version,
  owner,
}: Pick<LabelStudioSite, 'url' | 'version' | 'owner'>): LabelStudioSite {
  const asOwner = { authorization: `Token ${owner.legacyToken}` };
  let made: Promise<{ token: string }> | undefined;

  async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await callJson(method, `${url}${path}`, asOwner, body);
    if (answer.status < 300) return answer.body as T;
    throw new Error(`${method} ${path} answered ${answer.status}`);
  }

  return {
    url,
    version,
    owner,
    api,

    async personalToken() {
      made ??= api('POST', '/api/token/');
      return (await made).token;
    },

    signIn: (email, password) => fillIn(url, `${url}/user/login/`, email, password),
    signUp: (link, email, password) => fillIn(url, link, email, password),
    callAs: (authorization, path, method = 'GET', body = undefined) =>
      callJson(method, `${url}${path}`, { authorization }, body),
  };
}

async function fillIn(url: string, page: string, email: string, password: string): Promise<BrowserSession | null> {
  const shown = await fetch(page);
  await shown.arrayBuffer();
  const cookies = cookiesOf(shown);
  const form = { email, password, csrfmiddlewaretoken: cookies.get('csrftoken') ?? '' };
  const answer = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: toHeader(cookies) },
    body: new URLSearchParams(form),
  });
  await answer.arrayBuffer();
  if (answer.status !== 302) return null;
  const cookie = toHeader(cookiesOf(answer));
  return { call: (method, path, body) => callJson(method, `${url}${path}`, { cookie }, body) };
}

async function callJson(
  method: string,
  url: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<ApiAnswer> {
  const answer = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  return { status: answer.status, body: isJson && text !== '' ? JSON.parse(text) : text };
}

function cookiesOf(answer: Response): Map<string, string> {
  const pairs = answer.headers.getSetCookie().map((cookie) => {
    const [, name = '', value = ''] = /^\s*([^=]+)=([^;]*)/.exec(cookie) ?? [];
    return [name, value] as const;
  });
  return new Map(pairs);
}

function toHeader(cookies: Map<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}
