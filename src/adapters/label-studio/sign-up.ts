import { AppError } from '../../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../../lib/http-client.ts';
import { maskText } from '../../lib/mask.ts';

/**
 * The page on which people sign up. Label Studio has no other way to an account that can log in:
 * one that its API makes has no password.
 */
export interface SignUpPage {
  /**
   * Fills the form in, for a person whom Label Studio does not know.
   *
   * @returns their session
   * @throws AppError `conflict` where it knows the address after all, `invalid` where it does not
   * like it or the password, `forbidden` for a token that is not good any more
   */
  signUp(account: NewAccount, inviteToken: string, signal: AbortSignal): Promise<string>;
  /**
   * Whether the form would be looked at: it is sent empty, which makes no account. Without a token
   * it asks for anybody, with one for those who have the link.
   */
  isOpen(inviteToken: string | null, signal: AbortSignal): Promise<boolean>;
}

export interface NewAccount {
  email: string;
  password: string;
}

const timeoutMs = 15_000;
const maxBytes = 4 * 1024 * 1024;

export function createSignUpPage(root: string): SignUpPage {
  async function submit(
    fields: Readonly<Record<string, string>>,
    inviteToken: string | null,
    signal: AbortSignal,
  ): Promise<Submitted> {
    const url = `${root}/user/signup/${inviteToken === null ? '' : toSearch(inviteToken)}`;
    const bounds = { url, timeoutMs, maxBytes, signal, isAnswerText: true };
    const purpose = 'open the sign-up page';
    const page = await requestJson({ ...bounds, method: 'GET', headers: asPage, purpose });
    const csrf = cookieIn(page.headers, 'csrftoken') ?? '';
    return await send({
      ...bounds,
      method: 'POST',
      purpose: 'sign them up',
      // Over https Django wants to know which page the form stood on.
      headers: { ...asPage, referer: url, cookie: `csrftoken=${csrf}` },
      form: { ...fields, csrfmiddlewaretoken: csrf },
      secrets: [...Object.values(fields), inviteToken ?? '', csrf],
    });
  }

  return {
    async signUp({ email, password }, inviteToken, signal) {
      const submitted = await submit({ email, password }, inviteToken, signal);
      if (submitted.isIn) return submitted.session;
      const [reasons, secrets] = [reasonsIn(submitted.page), [email, password, inviteToken]];
      const why = maskText(reasons.join(' '), secrets).slice(0, 200) || 'without a reason';
      const isKnown = reasons.some((reason) => /already exists/i.test(reason));
      throw new AppError(isKnown ? 'conflict' : 'invalid', `Could not sign them up: Label Studio refuses: ${why}`);
    },

    async isOpen(inviteToken, signal) {
      try {
        await submit({}, inviteToken, signal);
        return true;
      } catch (error) {
        if ((error as { status?: number }).status === 403) return false;
        throw error;
      }
    },
  };
}

const asPage = { accept: 'text/html' };

type Submitted = { isIn: true; session: string } | { isIn: false; page: string };

/** Whoever is signed up is logged in and sent on; the form comes back with what is wrong with it. */
async function send(request: HttpRequest): Promise<Submitted> {
  let session: string | undefined;
  const onHeaders = (headers: Headers) => {
    session = cookieIn(headers, 'sessionid');
  };
  try {
    const { body }: HttpAnswer = await requestJson({ ...request, onHeaders });
    return { isIn: false, page: String(body) };
  } catch (error) {
    const { status } = error as { status?: number };
    if (status === 302 && session !== undefined) return { isIn: true, session };
    throw error;
  }
}

export function toSearch(inviteToken: string): string {
  return `?token=${encodeURIComponent(inviteToken)}`;
}

function cookieIn(headers: Headers, name: string): string | undefined {
  const pattern = new RegExp(`^\\s*${name}=([^;]+)`);
  for (const cookie of headers.getSetCookie()) {
    const [, value] = pattern.exec(cookie) ?? [];
    if (value !== undefined) return value;
  }
  return undefined;
}

/** `<ul class="field_errors"><li>…</li></ul>`, and the same without a class in older pages. */
function reasonsIn(page: string): string[] {
  const lists = page.matchAll(/<ul class="(?:field_errors|errorlist)[^"]*">([\s\S]*?)<\/ul>/g);
  return [...lists].flatMap(([, list = '']) =>
    [...list.matchAll(/<li>([^<]*)<\/li>/g)].map(([, reason = '']) => reason.trim()),
  );
}
