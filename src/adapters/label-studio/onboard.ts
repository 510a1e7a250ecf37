import { AppError, type ErrorCode } from '../../domain/errors.ts';
import type { Added, Invitation, Person } from '../adapter.ts';
import { type LabelStudio, readInviteToken, readUser } from './label-studio-api.ts';
import { Me } from './label-studio-schema.ts';
import { findByAddress, isUserId } from './members.ts';
import { fillInSignUp, type NewAccount, toSearch } from './sign-up.ts';

/** Gets an account for a person: Gangway fills in the sign-up form, or the person does. */

/** Makes an account with `person.newPassword`. */
export async function signUp(studio: LabelStudio, person: Person, signal: AbortSignal): Promise<Added> {
  const { email, newPassword } = person;
  if (newPassword === undefined) {
    throw new AppError('invalid', 'Could not sign them up: there is no password for them');
  }
  const username = email.toLowerCase();
  let session: string;
  try {
    session = await submit(studio, { email: username, password: newPassword }, signal);
  } catch (error) {
    if (!isError(error, 'conflict')) throw error;
    // Another hand signed them up meanwhile, or they were a member before and were removed.
    const found = findByAddress(await studio.users.read(0, signal), email);
    if (found === null) throw endedBefore(error);
    return { ...found, account: 'found' };
  }
  // Asked with their own session, because the list of all users is long.
  const me = await studio.api.call({
    path: '/api/current-user/whoami',
    purpose: 'ask who was signed up',
    headers: { cookie: `sessionid=${session}` },
    isAnonymous: true,
    secrets: [session],
    answer: Me,
    signal,
  });
  const added = findByAddress([me], email);
  if (added === null) {
    throw new AppError('unavailable', 'Label Studio says it signed them up but shows another');
  }
  const url = toPublic(studio, '/user/login/');
  return { ...added, account: 'made', invitation: { kind: 'password', url, username } };
}

/** A removal at the same time may reset the link. Then the new one is used. */
async function submit({ api, settings }: LabelStudio, account: NewAccount, signal: AbortSignal): Promise<string> {
  const inviteToken = await readInviteToken(api, signal);
  try {
    return await fillInSignUp(settings.url, account, inviteToken, signal);
  } catch (error) {
    const newToken = isError(error, 'forbidden') ? await readInviteToken(api, signal) : inviteToken;
    if (newToken === inviteToken) throw error;
    return await fillInSignUp(settings.url, account, newToken, signal);
  }
}

/** Gives the link. Label Studio does not know the person until they follow it. */
export async function invite(studio: LabelStudio, person: Person, signal: AbortSignal): Promise<Added> {
  const { memberId, email, trainerId } = person;
  const known = isUserId(memberId) ? await readUser(studio.api, memberId, signal) : null;
  // Their account still has the address, so they could not sign up by the link.
  if (known !== null) throw endedBefore();
  const invitation = await readInvitation(studio, signal);
  return { id: `invited:${trainerId}`, email, isInvited: true, isUnlisted: true, invitation };
}

export async function readInvitation(studio: LabelStudio, signal: AbortSignal): Promise<Invitation> {
  const inviteToken = await readInviteToken(studio.api, signal);
  return { kind: 'link', url: toPublic(studio, `/user/signup/${toSearch(inviteToken)}`), expiresAt: null };
}

/** Where people open Label Studio. */
function toPublic({ settings: { url, publicUrl = url } }: LabelStudio, path: string): string {
  return `${publicUrl}${path}`;
}

function endedBefore(cause?: unknown): AppError {
  return new AppError(
    'conflict',
    'They were a member before and were removed, which Label Studio cannot undo over its API: delete the user (DELETE /api/users/<id>, which takes their name off their work), or clear "deleted at" of their membership under /admin',
    { cause },
  );
}

function isError(error: unknown, code: ErrorCode): boolean {
  return error instanceof AppError && error.code === code;
}
