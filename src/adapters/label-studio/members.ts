import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import { pathSegment } from '../../lib/url.ts';
import type { Added, Invitation, Member, Person } from '../adapter.ts';
import { requestTool, type ToolClient, unless } from '../tool-request.ts';
import {
  isMember,
  type LabelStudio,
  readInviteToken,
  readMe,
  readOrganization,
  readUser,
  toMember,
} from './label-studio-api.ts';
import { Me, type User } from './label-studio-schema.ts';

export async function findUser(
  { api, readUsers }: LabelStudio,
  { memberId, email, maxListAgeMs = 0 }: Person,
): Promise<Member | null> {
  const known = isUserId(memberId) ? await readUser(api, memberId) : null;
  if (known !== null && isMember(known)) return toMember(known);
  return findByAddress(await readUsers(maxListAgeMs), email);
}

/**
 * A user whose membership was ended by hand is masked, but still gets in. Label Studio does not show that the membership
 * has ended: it answers 200 as before.
 */
export async function findUserById(api: ToolClient, id: string): Promise<Member | null> {
  const user = isUserId(id) ? await readUser(api, id) : null;
  if (user === null) return null;
  return isMember(user) ? toMember(user) : { ...toMember(user), email: null };
}

function findByAddress(users: readonly User[], email: string | null): Member | null {
  const found = users.find((user) => isMember(user) && isSameAddress(user.email ?? null, email));
  return found === undefined ? null : toMember(found);
}

/** An invited person has the id `invited:…` instead. */
function isUserId(id: string | null): id is string {
  return id !== null && /^[1-9]\d{0,15}$/.test(id);
}

export async function endMembership(studio: LabelStudio, member: Member): Promise<void> {
  const members = `/api/organizations/${pathSegment(studio.settings.organization)}/memberships`;
  await remove(studio, member, { at: members, purpose: 'end the membership' });
}

export async function deleteUser(studio: LabelStudio, member: Member): Promise<void> {
  await remove(studio, member, { at: '/api/users', purpose: 'delete the user' });
}

async function remove(
  studio: LabelStudio,
  { id, email }: Member,
  { at, purpose }: { at: string; purpose: string },
): Promise<void> {
  // A person who has accepted the invitation since is found by address.
  const userId = isUserId(id) ? id : findByAddress(await studio.readUsers(0), email)?.id;
  if (userId === undefined) return;
  await refuseOwner(studio, userId);
  const path = `${at}/${pathSegment(userId)}/`;
  await unless([404], studio.api.call({ method: 'DELETE', path, purpose }));
}

/** Refuses to remove the owner and the token's own user, which only the newest versions of Label Studio refuse. */
async function refuseOwner(studio: LabelStudio, id: string): Promise<void> {
  const [me, shown] = [await readMe(studio.api), await readOrganization(studio)];
  if (shown === null) {
    const why = `Label Studio does not show organization ${studio.settings.organization}, so its owner is unknown`;
    throw new AppError('not_found', `Could not remove the member: ${why}; check that the token may read it`);
  }
  if (id !== String(me.id) && id !== String(shown.created_by)) return;
  throw new AppError('invalid', 'Gangway does not remove the owner of the organization or of the token');
}

/** Creates an account with `person.newPassword` by the sign-up form. */
export async function signUp(studio: LabelStudio, person: Person): Promise<Added> {
  const { email, newPassword } = person;
  if (newPassword === undefined) {
    throw new AppError('invalid', 'Could not sign the person up: no password was given for a new account');
  }
  const username = email.toLowerCase();
  let session: string;
  try {
    session = await fillIn(studio, { email: username, password: newPassword });
  } catch (error) {
    if (!isError(error, 'conflict')) throw error;
    // They were signed up meanwhile, or they are a former member.
    const found = findByAddress(await studio.readUsers(0), email);
    if (found === null) throw endedBefore(error);
    return { ...found, account: 'found' };
  }
  // With their own session, because the list of all users is long.
  const me = await studio.api.call({
    path: '/api/current-user/whoami',
    purpose: 'ask who was signed up',
    headers: { cookie: `sessionid=${session}` },
    isAnonymous: true,
    secrets: [session],
    answer: Me,
  });
  const added = findByAddress([me], email);
  if (added === null) {
    throw new AppError('unavailable', 'Label Studio says it signed the person up but shows another account');
  }
  const url = toPublic(studio, '/user/login/');
  return { ...added, account: 'made', invitation: { kind: 'password', url, username } };
}

/** A removal at the same time may reset the invite link. Then the new link is used. */
async function fillIn(studio: LabelStudio, account: NewAccount): Promise<string> {
  const inviteToken = await readInviteToken(studio.api);
  try {
    return await fillInWith(studio, account, inviteToken);
  } catch (error) {
    const newToken = isError(error, 'forbidden') ? await readInviteToken(studio.api) : inviteToken;
    if (newToken === inviteToken) throw error;
    return await fillInWith(studio, account, newToken);
  }
}

/** Gives the person the invite link. Label Studio does not know them until they sign up. */
export async function invite(studio: LabelStudio, person: Person): Promise<Added> {
  const { memberId, email, trainerId } = person;
  const known = isUserId(memberId) ? await readUser(studio.api, memberId) : null;
  // Their account still has the address, so they could not sign up by the link.
  if (known !== null) throw endedBefore();
  const invitation = await readInvitation(studio);
  return { id: `invited:${trainerId}`, email, isInvited: true, isUnlisted: true, invitation };
}

export async function readInvitation(studio: LabelStudio): Promise<Invitation> {
  const inviteToken = await readInviteToken(studio.api);
  return { kind: 'link', url: toPublic(studio, `/user/signup/${toSearch(inviteToken)}`), expiresAt: null };
}

function toPublic({ settings: { url, publicUrl = url } }: LabelStudio, path: string): string {
  return `${publicUrl}${path}`;
}

function endedBefore(cause?: unknown): AppError {
  return new AppError(
    'conflict',
    'They are a former member, which the API of Label Studio cannot undo: delete the user (DELETE /api/users/<id>, which takes their name off their work), or clear "deleted at" of their membership under /admin',
    { cause },
  );
}

function isError(error: unknown, code: ErrorCode): boolean {
  return error instanceof AppError && error.code === code;
}

interface NewAccount {
  email: string;
  password: string;
}

/**
 * Fills in the form on which people sign up. The API creates accounts too, but without a password, so that nobody can log
 * in to them.
 *
 * @returns the session of the new user
 * @throws AppError `conflict` if the address has an account, `invalid` if the address or the password
 * is refused, `forbidden` if the token is no longer valid
 */
async function fillInWith(studio: LabelStudio, { email, password }: NewAccount, inviteToken: string): Promise<string> {
  const submitted = await submit(studio, { email, password }, inviteToken);
  if (submitted.isIn) return submitted.session;
  const [reasons, secrets] = [reasonsIn(submitted.page), [email, password, inviteToken]];
  const why = maskText(reasons.join(' '), secrets).slice(0, 200) || 'without a reason';
  const isKnown = reasons.some((reason) => /already exists/i.test(reason));
  throw new AppError(isKnown ? 'conflict' : 'invalid', `Could not sign the person up: Label Studio refused: ${why}`);
}

/**
 * Whether the form is accepted from people with this invite token, or without one. The form is sent empty, so it creates
 * no account. Whether the page opens proves nothing, because it always does.
 */
export async function isSignUpOpen(studio: LabelStudio, inviteToken: string | null): Promise<boolean> {
  return (await unless([403], submit(studio, {}, inviteToken))) !== null;
}

type Submitted = { isIn: true; session: string } | { isIn: false; page: string };

/** After a sign-up, Label Studio logs the user in and redirects. Otherwise it shows the form with the errors. */
async function submit(
  { settings, api: { signal } }: LabelStudio,
  fields: Readonly<Record<string, string>>,
  inviteToken: string | null,
): Promise<Submitted> {
  const url = `${settings.url}/user/signup/${inviteToken === null ? '' : toSearch(inviteToken)}`;
  const request = { url, signal, isAnswerText: true };
  const page = await requestTool({ ...request, headers: asPage, purpose: 'open the sign-up page' });
  const csrf = cookieIn(page.headers, 'csrftoken') ?? '';
  let session: string | undefined;
  try {
    const { body } = await requestTool({
      ...request,
      method: 'POST',
      purpose: 'sign the person up',
      // Over https, Django requires the address of the page with the form.
      headers: { ...asPage, referer: url, cookie: `csrftoken=${csrf}` },
      form: { ...fields, csrfmiddlewaretoken: csrf },
      secrets: [...Object.values(fields), inviteToken ?? '', csrf],
      onHeaders(headers) {
        session = cookieIn(headers, 'sessionid');
      },
    });
    return { isIn: false, page: String(body) };
  } catch (error) {
    if (statusOf(error) === 302 && session !== undefined) return { isIn: true, session };
    throw error;
  }
}

const asPage = { accept: 'text/html' };

function toSearch(inviteToken: string): string {
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

/** `<ul class="field_errors"><li>…</li></ul>`; older pages have the class `errorlist`. */
export function reasonsIn(page: string): string[] {
  const [, ...parts] = page.split(/<ul class="(?:field_errors|errorlist)/);
  return parts.flatMap((part) => {
    const [list = ''] = part.split('</ul>', 1);
    return [...list.matchAll(/<li>([^<]*)<\/li>/g)].map(([, reason = '']) => reason.trim());
  });
}
