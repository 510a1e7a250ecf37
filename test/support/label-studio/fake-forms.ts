import { randomBytes } from 'node:crypto';
import type { FakeAnswer } from './fake-routes.ts';
import type { FakeUsers } from './fake-users.ts';

export interface FormRequest {
  method: string;
  url: URL;
  cookies: Map<string, string>;
  form: URLSearchParams;
  /** Whether to say that it is done, and do nothing. */
  isSwallowed: boolean;
}

export interface FormSettings {
  isSignUpOpen: boolean;
  /** Whether it stands behind https and does not know its public address. */
  isFormRefused: boolean;
}

/** As strict as Django's, as far as it matters. */
const addressPattern = /^[^\s@(),:;<>[\]\\"]+@[\w-]+(\.[\w-]+)+$/;

/** The two pages with a form, on which people sign up and log in. */
export function createFakeForms(users: FakeUsers, settings: FormSettings) {
  function signUp({ url, form, isSwallowed }: FormRequest): FakeAnswer {
    const token = url.searchParams.get('token');
    const isRefused = token === null ? !settings.isSignUpOpen : token !== users.inviteToken();
    if (isRefused) return { status: 403, body: '<h1>403' };
    const email = (form.get('email') ?? '').toLowerCase();
    const password = form.get('password') ?? '';
    const reasons = reasonsAgainst(email, password);
    if (reasons.length > 0) return showForm(reasons);
    return letIn(isSwallowed ? 0 : users.add(email, password).id);
  }

  function reasonsAgainst(email: string, password: string): string[] {
    return [
      ...(addressPattern.test(email) ? [] : ['Enter a valid email address.']),
      ...(users.byEmail(email) ? ['User with this email already exists'] : []),
      ...(password.length < 8 ? ['Please enter a password 8-128 characters in length'] : []),
    ];
  }

  function logIn({ form }: FormRequest): FakeAnswer {
    const user = users.byEmail((form.get('email') ?? '').toLowerCase());
    if (user === undefined || user.password !== form.get('password')) {
      return showForm(["The email and password you entered don't match."]);
    }
    // A removed user can log in: only the password is checked.
    user.activeOrganization = 1;
    return letIn(user.id);
  }

  return {
    answer(request: FormRequest): FakeAnswer {
      const { method, url, cookies, form } = request;
      if (method === 'GET') return showForm([]);
      const csrf = cookies.get('csrftoken');
      const isGood = csrf !== undefined && form.get('csrfmiddlewaretoken') === csrf;
      if (settings.isFormRefused || !isGood) {
        return { status: 403, body: '<h1>CSRF verification failed' };
      }
      return url.pathname === '/user/signup/' ? signUp(request) : logIn(request);
    },
  };
}

function showForm(reasons: string[]): FakeAnswer {
  const list = `<ul class="field_errors">\n${reasons.map((reason) => `<li>${reason}</li>`).join('\n')}</ul>`;
  const headers = { 'set-cookie': `csrftoken=${randomBytes(16).toString('hex')}; Path=/` };
  return { status: 200, body: `<!doctype html><form>${list}</form>`, headers };
}

function letIn(id: number): FakeAnswer {
  const cookie = `sessionid=${id}; HttpOnly; Path=/`;
  return { status: 302, headers: { location: '/', 'set-cookie': cookie } };
}
