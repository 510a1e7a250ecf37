import { type HTMLElement, parse } from 'node-html-parser';

/** Tokens of the console in every journey. */
export const consoleTokens = {
  vera: { token: 'vera-may-see-everything', role: 'viewer' },
  otto: { token: 'otto-may-do-everything', role: 'operator' },
} as const;

/** An operator with a browser without JavaScript: keeps cookies, follows redirects, and sends the forms of pages. */
export interface Visitor {
  signIn(name: keyof typeof consoleTokens): Promise<VisitedPage>;
  visit(path: string): Promise<VisitedPage>;
  /** Sends the only form of a page with this button and the values of its fields, or those in `given`. */
  press(page: VisitedPage, button: string, given?: Record<string, string | string[]>): Promise<VisitedPage>;
  /** A request as a browser would send it, with the cookies, and with these headers too; follows no redirect. */
  send(path: string, request?: RequestInit): Promise<Response>;
}

export interface VisitedPage {
  status: number;
  /** With the query, without the host. */
  path: string;
  type: string;
  /** Where it is HTML, its content as a reader sees it, a line for each row or block. */
  text: string;
  html: HTMLElement;
  body: string;
}

/** The cookie of a new session, as a browser sends it. */
export async function cookieOf(consoleUrl: string, name: keyof typeof consoleTokens): Promise<string> {
  const body = new URLSearchParams({ token: consoleTokens[name].token });
  const answer = await fetch(`${consoleUrl}/sign-in`, { method: 'POST', body, redirect: 'manual' });
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

export function createVisitor(consoleUrl: string): Visitor {
  const cookies = new Map<string, string>();

  async function send(path: string, { headers, ...request }: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(`${consoleUrl}${path}`, {
      redirect: 'manual',
      ...request,
      headers: { ...(cookie && { cookie }), ...Object.fromEntries(new Headers(headers)) },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]?.split('=') ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }

  async function load(path: string, request?: RequestInit): Promise<VisitedPage> {
    const answer = await send(path, request);
    const location = answer.headers.get('location');
    if (location !== null) {
      await answer.body?.cancel();
      return await load(location);
    }
    const body = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    let [html, text]: [HTMLElement?, string?] = [];
    // Parsed only where a test looks into it: hundreds of pages are asked for their status alone.
    return {
      status: answer.status,
      path,
      type,
      body,
      get html() {
        html ??= parse(body);
        return html;
      },
      get text() {
        text ??= readable(parse(body));
        return text;
      },
    };
  }

  const press: Visitor['press'] = async (page, button, given = {}) => {
    const { form, pressed } = findForm(page, button);
    const fields = fieldsOf(form, pressed);
    for (const [key, values] of Object.entries(given)) {
      const [first, ...more] = [values].flat();
      // In the order of the fields, as a browser sends them.
      if (first === undefined) fields.delete(key);
      else fields.set(key, first);
      for (const value of more) fields.append(key, value);
    }
    const action = pressed.getAttribute('formaction') ?? form.getAttribute('action') ?? page.path;
    if (form.getAttribute('method') !== 'post') return await load(`${action.split('?')[0]}?${fields}`);
    return await load(action, { method: 'POST', body: fields, headers: { origin: consoleUrl } });
  };

  return {
    send,
    visit: (path) => load(path),
    press,
    signIn: async (name) => press(await load('/sign-in'), 'Sign in', { token: consoleTokens[name].token }),
  };
}

function findForm({ path, html }: VisitedPage, label: string) {
  const found = html.querySelectorAll('form').flatMap((form) => {
    const pressed = form.querySelectorAll('button').find((button) => button.text.trim() === label);
    return pressed === undefined ? [] : [{ form, pressed }];
  });
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${path} has ${found.length} forms with "${label}"`);
  return only;
}

/** As a browser collects them. */
function fieldsOf(form: HTMLElement, pressed: HTMLElement): URLSearchParams {
  const fields = new URLSearchParams();
  for (const field of form.querySelectorAll('input, select, textarea')) {
    const [name, type] = [field.getAttribute('name'), field.getAttribute('type')];
    const isOff = (type === 'checkbox' || type === 'radio') && !field.hasAttribute('checked');
    if (name !== undefined && !isOff) fields.append(name, valueIn(field));
  }
  const name = pressed.getAttribute('name');
  if (name !== undefined) fields.append(name, pressed.getAttribute('value') ?? '');
  return fields;
}

function valueIn(field: HTMLElement): string {
  if (field.tagName === 'TEXTAREA') return field.text;
  if (field.tagName !== 'SELECT') return field.getAttribute('value') ?? 'on';
  const options = field.querySelectorAll('option');
  const chosen = options.find((option) => option.hasAttribute('selected')) ?? options[0];
  return chosen?.getAttribute('value') ?? chosen?.text ?? '';
}

/** Cells of a row are separated by ` | `. */
function readable(html: HTMLElement): string {
  const main = html.querySelector('main');
  if (main === null) return html.structuredText;
  for (const row of main.querySelectorAll('tr')) {
    const cells = row.querySelectorAll('th, td').map((cell) => cell.structuredText.replaceAll(/\s+/g, ' ').trim());
    row.set_content(`<td>${cells.map((cell) => cell.replaceAll('<', '&lt;')).join(' | ')}</td>`);
  }
  return main.structuredText
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/\n\s*\n+/g, '\n')
    .trim();
}
