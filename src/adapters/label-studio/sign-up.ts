import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { requestTool, type ToolRequest, unless } from '../tool-request.ts';

/**
 * The page on which people sign up. Only this page makes accounts that can log in: an account that the
 * API makes has no password.
 */

export interface NewAccount {
  email: string;
  password: string;
}

/**
 * Fills in the form for a person who has no account in Label Studio.
 *
 * @returns their session
 * @throws AppError `conflict` if the address has an account, `invalid` if the address or the password
 * is refused, `forbidden` if the token is not valid any more
 */
export async function fillInSignUp(
  root: string,
  { email, password }: NewAccount,
  inviteToken: string,
  signal: AbortSignal,
): Promise<string> {
  const submitted = await submit(root, { email, password }, inviteToken, signal);
  if (submitted.isIn) return submitted.session;
  const [reasons, secrets] = [reasonsIn(submitted.page), [email, password, inviteToken]];
  const why = maskText(reasons.join(' '), secrets).slice(0, 200) || 'without a reason';
  const isKnown = reasons.some((reason) => /already exists/i.test(reason));
  throw new AppError(isKnown ? 'conflict' : 'invalid', `Could not sign them up: Label Studio refuses: ${why}`);
}

/**
 * Whether the form is accepted for people with this token, or for people without the link if it is
 * null. The form is sent empty, which makes no account.
 */
export async function isSignUpOpen(root: string, inviteToken: string | null, signal: AbortSignal): Promise<boolean> {
  return (await unless([403], submit(root, {}, inviteToken, signal))) !== null;
}

async function submit(
  root: string,
  fields: Readonly<Record<string, string>>,
  inviteToken: string | null,
  signal: AbortSignal,
): Promise<Submitted> {
  const url = `${root}/user/signup/${inviteToken === null ? '' : toSearch(inviteToken)}`;
  const request = { url, signal, isAnswerText: true };
  const page = await requestTool({ ...request, headers: asPage, purpose: 'open the sign-up page' });
  const csrf = cookieIn(page.headers, 'csrftoken') ?? '';
  return await send({
    ...request,
    method: 'POST',
    purpose: 'sign them up',
    // Over https, Django requires the address of the page with the form.
    headers: { ...asPage, referer: url, cookie: `csrftoken=${csrf}` },
    form: { ...fields, csrfmiddlewaretoken: csrf },
    secrets: [...Object.values(fields), inviteToken ?? '', csrf],
  });
}

const asPage = { accept: 'text/html' };

type Submitted = { isIn: true; session: string } | { isIn: false; page: string };

/** After a sign-up Label Studio logs the user in and redirects. Otherwise it shows the form with the errors. */
async function send(request: ToolRequest): Promise<Submitted> {
  let session: string | undefined;
  const onHeaders = (headers: Headers) => {
    session = cookieIn(headers, 'sessionid');
  };
  try {
    const { body } = await requestTool({ ...request, onHeaders });
    return { isIn: false, page: String(body) };
  } catch (error) {
    if (statusOf(error) === 302 && session !== undefined) return { isIn: true, session };
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
export function reasonsIn(page: string): string[] {
  const [, ...parts] = page.split(/<ul class="(?:field_errors|errorlist)/);
  return parts.flatMap((part) => {
    const [list = ''] = part.split('</ul>', 1);
    return [...list.matchAll(/<li>([^<]*)<\/li>/g)].map(([, reason = '']) => reason.trim());
  });
}
