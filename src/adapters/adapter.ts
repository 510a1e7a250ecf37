/**
 * The port to an annotation tool. An adapter knows one kind of tool and nothing else: not who is
 * wanted, not why, not when to try again. Everything here is its contract; `conformance.ts` is the
 * same in executable form.
 *
 * Every call takes a signal that it must pass on to whatever it waits for, may be made again at any
 * time (after a crash nobody knows whether it was made), and throws `AppError`: `unavailable` and
 * `rate_limited` are tried again, all other codes wait for somebody to change something. Messages
 * hold no secret, no address and no body.
 */
export interface Adapter {
  readonly capabilities: Capabilities;

  /** Proves that the tool can be reached and that the settings suffice. Changes nothing. */
  check(signal: AbortSignal): Promise<void>;

  /** The id of the group whose members a link's project has. Pure: the same link, the same group. */
  groupFor(link: AdapterLink): string;

  /**
   * The person as a member of the group, or null. By `memberId` where that is known and still good,
   * else by what identifies a person in this tool; the case of an address never matters.
   */
  findMember(groupId: string, person: Person, signal: AbortSignal): Promise<Member | null>;

  /** Makes the person a member. Someone who is one already is left as they are. */
  addMember(groupId: string, person: Person, signal: AbortSignal): Promise<Member>;

  /** Takes a member out of this group and no other. Someone who is not in it is no error. */
  removeMember(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /**
   * Instead of `removeMember`, where the tool knows logins apart from groups: takes the member out
   * of this group and ends their login in the whole tool. Called only when nothing else in the tool
   * is wanted for that account. Someone who has none any more is no error.
   */
  removeAccount?(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /** All members, page by page; a page that cannot be read is an error, never an end. */
  listMembers?(groupId: string, signal: AbortSignal): AsyncIterable<Member>;
}

export interface Capabilities {
  /**
   * What a removal does: `locks_out`, or `membership_only` where a removed person could still get
   * in, with the reason for the operator.
   */
  removal: { effect: 'locks_out' } | { effect: 'membership_only'; reason: string };
  /** Whether a removed person can be added again. */
  readding: 'yes' | 'new_account' | 'no';
  /** What must not be changed by two calls at once. */
  exclusive: 'membership' | 'group' | 'tool';
}

export interface AdapterLink {
  externalProjectId: string;
  externalProjectName: string | null;
}

export interface Person {
  /** `opentrainUserId`: the identity. */
  trainerId: string;
  email: string;
  /** Masked, not unique, may change: for showing only. */
  displayName: string | null;
  /** The tool's own id for them, from an earlier call. */
  memberId: string | null;
}

export interface Member {
  /** The tool's own id, as text. */
  id: string;
  email: string | null;
  /** Invited and not in yet: access all the same, and revoked like a membership. */
  isInvited?: boolean;
}
