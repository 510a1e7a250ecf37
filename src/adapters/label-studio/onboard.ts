import { AppError, type ErrorCode } from '../../domain/errors.ts';
import type { Added, Invitation, Person } from '../adapter.ts';
import { findByAddress, isUserId, type SharedUsers } from './find-user.ts';
import type { LabelStudioApi } from './label-studio-api.ts';
import { type NewAccount, type SignUpPage, toSearch } from './sign-up.ts';

/** Gets an account for a person: Gangway fills in the sign-up form, or the person does. */
export interface OnboardDeps {
  api: LabelStudioApi;
  users: SharedUsers;
  page: SignUpPage;
  /** Where people open Label Studio. */
  publicUrl: string;
}

/** Makes an account with `person.newPassword`. */
export async function signUp(deps: OnboardDeps, person: Person, signal: AbortSignal): Promise<Added> {
  const { email, newPassword } = person;
  if (newPassword === undefined) {
    throw new AppError('invalid', 'Could not sign them up: there is no password for them');
  }
  let session: string;
  try {
    session = await submit(deps, { email: email.toLowerCase(), password: newPassword }, signal);
  } catch (error) {
    if (!isError(error, 'conflict')) throw error;
    // Another hand signed them up meanwhile, or they were a member before and were removed.
    const found = findByAddress(await deps.users.read(0, signal), email);
    if (found === null) throw endedBefore(error);
    return { ...found, account: 'found' };
  }
  // Asked with their own session, because the list of all users is long.
  const added = findByAddress([await deps.api.meBySession(session, signal)], email);
  if (added === null) {
    throw new AppError('unavailable', 'Label Studio says it signed them up but shows another');
  }
  const url = `${deps.publicUrl}/user/login/`;
  return {
    ...added,
    account: 'made',
    invitation: { kind: 'password', url, username: email.toLowerCase() },
  };
}

/** A removal at the same time may reset the link. Then the new one is used. */
async function submit({ api, page }: OnboardDeps, account: NewAccount, signal: AbortSignal): Promise<string> {
  const inviteToken = await api.inviteToken(signal);
  try {
    return await page.signUp(account, inviteToken, signal);
  } catch (error) {
    const newToken = isError(error, 'forbidden') ? await api.inviteToken(signal) : inviteToken;
    if (newToken === inviteToken) throw error;
    return await page.signUp(account, newToken, signal);
  }
}

/** Gives the link. Label Studio does not know the person until they follow it. */
export async function invite(deps: OnboardDeps, person: Person, signal: AbortSignal): Promise<Added> {
  const { memberId, email, trainerId } = person;
  const known = isUserId(memberId) ? await deps.api.user(memberId, signal) : null;
  // Their account still has the address, so they could not sign up by the link.
  if (known !== null) throw endedBefore();
  const invitation = await toInvitation(deps, signal);
  return { id: `invited:${trainerId}`, email, isInvited: true, isUnlisted: true, invitation };
}

export async function toInvitation(deps: OnboardDeps, signal: AbortSignal): Promise<Invitation> {
  const inviteToken = await deps.api.inviteToken(signal);
  const url = `${deps.publicUrl}/user/signup/${toSearch(inviteToken)}`;
  return { kind: 'link', url, expiresAt: null };
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
