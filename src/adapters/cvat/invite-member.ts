import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import type { Adapter, Added, Invitation, Member, Person } from '../adapter.ts';
import type { CvatApi } from './cvat-api.ts';
import { CvatInvitation, type CvatSettings, toOrganization } from './cvat-schema.ts';
import { type CvatMember, type CvatMembers, toMember } from './find-members.ts';

/** How long an invitation is valid by default, from when it was sent. A server may be configured differently. */
const expiryMs = 7 * 86_400_000;

type Invites = Required<Pick<Adapter, 'addMember' | 'renewInvitation'>>;

export function createInvites(settings: CvatSettings, api: CvatApi, members: CvatMembers): Invites {
  const invite = createInvite(settings, api, members);

  /** A new invitation if CVAT does not send the old one again. The old one ends with its membership. */
  async function inviteAnew(
    groupId: string,
    { pending, email }: { pending: CvatMember; email: string },
    signal: AbortSignal,
  ): Promise<Invitation> {
    const path = `/api/memberships/${pending.id}`;
    const purpose = 'take an invitation back to renew it';
    await api.send({ method: 'DELETE', path, purpose, secrets: [email], signal });
    const person = { trainerId: '', email, displayName: null, memberId: String(pending.user.id) };
    const { invitation } = await invite(groupId, person, signal);
    if (invitation === undefined) throw nothingToRenew(pending);
    return invitation;
  }

  return {
    addMember: invite,

    async renewInvitation(groupId, member, signal) {
      const found = await members.findById(groupId, member, signal);
      const key = found?.invitation ?? null;
      if (found === null || key === null || found.is_active) throw nothingToRenew(found);
      try {
        const expiresAt = await resend(api, { key, member, signal });
        return toLink(settings.url, { key, email: member.email, expiresAt });
      } catch (error) {
        const { email } = member;
        // CVAT sends at most five invitations an hour again, for one account that invites.
        if (email === null || statusOf(error) !== 429) throw error;
        return await inviteAnew(groupId, { pending: found, email }, signal);
      }
    },
  };
}

function createInvite({ url, role }: CvatSettings, api: CvatApi, members: CvatMembers) {
  /** An account that existed before is in at once. A new one has to register first. */
  async function toAdded(
    groupId: string,
    { key, user, accepted, created_date }: CvatInvitation,
    { email, signal }: { email: string; signal: AbortSignal },
  ): Promise<Added> {
    const member = { id: String(user.id), email };
    const isIn = accepted ?? (await members.findById(groupId, member, signal))?.is_active === true;
    if (isIn) return member;
    const sentMs = Date.parse(created_date);
    const expiresAt = Number.isNaN(sentMs) ? null : new Date(sentMs + expiryMs).toISOString();
    return { ...member, isInvited: true, invitation: toLink(url, { key, email, expiresAt }) };
  }

  /** The expiry is unknown, because CVAT does not show when the invitation was sent. */
  function toPresent(found: CvatMember, email: string): Added {
    const key = found.is_active ? null : found.invitation;
    const invitation = key === null ? null : toLink(url, { key, email, expiresAt: null });
    return { ...toMember(found), ...(invitation !== null && { invitation }) };
  }

  return async (groupId: string, person: Person, signal: AbortSignal): Promise<Added> => {
    const org = toOrganization(groupId);
    // CVAT makes the address the name of a new account, and compares names letter by letter.
    const email = person.email.toLowerCase();
    const call = { path: '/api/invitations', query: { org }, purpose: 'invite the member' };
    const secrets = [email, person.email];
    try {
      const body = { email, role };
      const post = { ...call, method: 'POST', body, secrets, signal } as const;
      const invitation = await api.ask(CvatInvitation, post);
      return await toAdded(groupId, invitation, { email, signal });
    } catch (error) {
      if (!mayBeThere(error)) throw error;
      const found = await members.find(groupId, person, signal);
      if (found !== null) return toPresent(found, email);
      throw toRefusal(error, await members.isNameTaken(groupId, email, signal));
    }
  };
}

interface Sent {
  key: string;
  email: string | null;
  expiresAt: string | null;
}

function toLink(url: string, { key, email, expiresAt }: Sent): Invitation {
  // As in CVAT's own mail. Every page that is opened with this query remembers the invitation.
  const query = new URLSearchParams({ ...(email && { email }), invitation: key });
  return { kind: 'link', url: `${url}/auth/login?${query.toString()}`, expiresAt };
}

/** 400 may mean that they are a member already; 500, that they became one and no mail was sent. */
function mayBeThere(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 400 || error.status === 500);
}

function toRefusal(error: AppError, isNameTaken: boolean): AppError {
  const { status, message } = error;
  if (status === 400 && /already/.test(message)) {
    return new AppError(
      'conflict',
      'CVAT says that this address is in the organization already, under a name that is not the address, or that proves nothing, and does not say which: remove that member in CVAT and they are invited anew',
      { status },
    );
  }
  // The address becomes the name of a new account. If another account has that name, CVAT answers 500.
  if (isNameTaken && status === 500) {
    return new AppError(
      'conflict',
      'Another member of the organization calls themselves by this address, so that CVAT can make no account for it: have an administrator of CVAT give that account another name',
      { status },
    );
  }
  const isUnexplained = status === 500 && !/[Ee]mail/.test(message);
  return isUnexplained ? new AppError('unavailable', `${message}${nameHint}`, { status }) : error;
}

const nameHint =
  '. If this lasts, the account of another person may have this address as its name: have an administrator of CVAT give it another name';

function nothingToRenew(found: CvatMember | null): AppError {
  const why = found === null ? 'they are no member' : 'they are in already, or were not invited';
  return new AppError('conflict', `Could not renew the invitation: ${why}`);
}

/**
 * Sends the invitation again.
 *
 * @returns when it expires; null if the server sends no mail, because then it never expires
 */
async function resend(
  api: CvatApi,
  { key, member, signal }: { key: string; member: Member; signal: AbortSignal },
): Promise<string | null> {
  const path = `/api/invitations/${encodeURIComponent(key)}`;
  const secrets = [key, ...(member.email === null ? [] : [member.email])];
  const call = { path, purpose: 'renew the invitation', secrets, signal };
  try {
    await api.send({ ...call, method: 'POST', path: `${path}/resend` });
    return new Date(Date.now() + expiryMs).toISOString();
  } catch (error) {
    if (statusOf(error) !== 500) throw error;
    const { expired } = await api.ask(CvatInvitation, call);
    if (expired === true) throw error;
    return null;
  }
}
