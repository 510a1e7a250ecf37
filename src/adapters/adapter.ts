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

  /**
   * Proves that the tool can be reached and that the settings suffice. Changes nothing. Throws where
   * it cannot be worked with, and gives what an operator should know although it can.
   */
  check(signal: AbortSignal): Promise<readonly Finding[]>;

  /**
   * What tells this installation of the tool from all others, wherever it stands, and never changes;
   * null where it tells nothing of the kind. Changes nothing. Leave it out where that is always so:
   * then the installation is told by its address in the settings (`url`).
   */
  identify?(signal: AbortSignal): Promise<string | null>;

  /** The id of the group whose members a link's project has. Pure: the same link, the same group. */
  groupFor(link: AdapterLink): string;

  /**
   * The one form in which the tool knows a project; null for what cannot be the id of one. Pure. Only
   * for a tool of which it is known how it resolves ids: without it no id with a separator, an
   * escape or the like is ever used. With it, whatever is not in this form is not.
   */
  canonicalGroup?(externalProjectId: string): string | null;

  /**
   * The person as a member of the group, or null. By `memberId` where that is known and still good,
   * else by what identifies a person in this tool; the case of an address never matters. Whoever has
   * the id by now is told with the address that they have by now: whether it is still the same person
   * is not the adapter's to judge.
   */
  findMember(groupId: string, person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account of a person in the tool as a whole, in a group or in none, active or not; null where
   * there is none. By address; by `memberId` only where the account found by it has the address too.
   * Asked before somebody is added: an account that was there before is never ended, renamed or
   * activated. Leave it out where `addMember` tells `account`, or where the tool cannot be asked:
   * then no account counts as ours.
   */
  findAccount?(person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account with this id in the tool as a whole, whatever hides it there; null where there is none,
   * or it is ended already. Asked where no look finds any more somebody who is to be out: not being
   * listed is not being out. Goes with `removeAccount`.
   */
  findAccountById?(id: string, signal: AbortSignal): Promise<Member | null>;

  /**
   * Makes the person a member. Someone who is one already is left as they are. An account that is
   * deactivated is activated only where `person.isAccountOurs`, else this is a `conflict`.
   */
  addMember(groupId: string, person: Person, signal: AbortSignal): Promise<Added>;

  /**
   * Takes a member out of this group and no other; their account stays as it is. Someone who is not
   * in it is no error.
   */
  removeMember(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /**
   * For a tool that leaves with whoever is taken out what was assigned to them: takes that away, in
   * one project or, where it is null, in the whole group. Called after they were taken out, and where
   * they leave one project and stay for another; they need not be a member any more, nor have
   * anything. No more at a time than a call may take: it is called again while it answers `more`.
   *
   * @param project an `externalProjectId`
   */
  endAssignments?(
    groupId: string,
    member: Member,
    project: string | null,
    signal: AbortSignal,
  ): Promise<'done' | 'more'>;

  /**
   * Instead of `removeMember`, where the tool knows logins apart from groups: takes the member out
   * of this group and ends their login in the whole tool. Called only for an account that Gangway
   * made, and when nothing else in the tool is wanted for it. Someone who has none any more is no
   * error.
   */
  removeAccount?(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /**
   * Gives the account of a member another address: that of the same person by now. Called only for
   * an account that Gangway made. Found by its id,
   * so only for tools that never give an id out again: one person's account would become another's.
   * Whoever has the address already is left as they are; `conflict` where somebody else has it.
   */
  updateEmail?(groupId: string, member: Member, email: string, signal: AbortSignal): Promise<void>;

  /** All members, page by page; a page that cannot be read is an error, never an end. */
  listMembers?(groupId: string, signal: AbortSignal): AsyncIterable<Member>;

  /**
   * Only for a tool that shows no addresses, so that `findMember` by address may miss somebody who is
   * in: all who may have come into the group, or may still come, by a call made at or after `since`
   * (an instant, by the clock of Gangway). Asked before somebody counts as out whose adding was never
   * answered: where it lists nobody, that call let nobody in.
   */
  listNewcomers?(groupId: string, since: string, signal: AbortSignal): AsyncIterable<Member>;

  /** Another way in for someone who was invited, where the first expired, was used up or was lost. */
  renewInvitation?(groupId: string, member: Member, signal: AbortSignal): Promise<Invitation>;

  /**
   * Where one invitation serves everybody: makes the one that is out there worthless. Called after
   * removals, for several together, while other calls may be under way; whoever still waits is
   * invited anew after it.
   */
  resetInvitations?(groupId: string, signal: AbortSignal): Promise<void>;

  /**
   * The id of the place where the work on a link's project is counted: the project, even where the
   * group is something larger. Pure. Goes with `readUsage`.
   */
  usageScopeFor?(link: AdapterLink): string;

  /**
   * The work done in a place. It is complete when it ends without an error: what is not in a reading
   * of everything is gone from the tool. A part that cannot be read is an error, never an end;
   * `not_found` says that there is no such place (any more).
   */
  readUsage?(scope: string, request: UsageRequest, signal: AbortSignal): AsyncIterable<UsageObservation | UsageNote>;
}

export interface Capabilities {
  /**
   * What a removal does: `locks_out`, or `membership_only` where a removed person could still get
   * in, with the reason for the operator.
   */
  removal: { effect: 'locks_out' } | { effect: 'membership_only'; reason: string };
  /** Whether a removed person can be added again. */
  readding: 'yes' | 'new_account' | 'no';
  /**
   * What is so of an account that is not ended, as it was there before or customers share the tool.
   * Needed with `removeAccount`; otherwise as above.
   */
  keepingAccount?: Pick<Capabilities, 'removal' | 'readding'>;
  /**
   * Whether whom we added is taken out by the tool's id for them also where no look finds them: the
   * look may be wrong, and then they are still in. Only with a removal that goes by the id.
   */
  removesUnseen?: boolean;
  /** What must not be changed by two calls at once. */
  exclusive: 'membership' | 'group' | 'tool';
  /**
   * How somebody without a login gets one: `none` where they have one, or the tool tells them by
   * itself; `own`, an invitation for each; `shared`, one link for all, of which the tool does not
   * know who has it; `password`, an account made with `Person.newPassword`. `none` unless told.
   */
  invitation?: 'none' | 'own' | 'shared' | 'password';
  /** Which counts `readUsage` gives, and whether the work of a person who was removed is still told. */
  usage?: { counts: readonly UsageCount[]; outlivesRemoval: boolean };
}

/** What a check has found that does not keep Gangway from working. */
export interface Finding {
  says: string;
  /** What to do about it. */
  action: string;
  /** Whether the promise cannot be kept like this: people may get in, or stay. */
  isFailure: boolean;
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
  /** Whether Gangway made the account they have: only then may it be activated. */
  isAccountOurs?: boolean;
  /**
   * How old a list may be in which they are looked for, so that one serves all who are looked for at
   * about the same time. Milliseconds; where left out, only what is so now will do.
   */
  maxListAgeMs?: number;
  /** For the login that adding them may make (`invitation: 'password'`); the same at every try. */
  newPassword?: string;
}

export interface Member {
  /** The tool's own id, as text. */
  id: string;
  /**
   * The address that the tool shows, or the name where it knows people by a name alone. Null where it
   * tells neither, or anybody may choose it: then nobody can tell whether an id was given out again.
   */
  email: string | null;
  /** Invited and not in yet: access all the same, and revoked like a membership. */
  isInvited?: boolean;
  /** When the tool made their account, where it tells: an instant. */
  madeAt?: string;
  /** What the tool calls them: text of a stranger's, and maybe somebody else's address. */
  name?: string;
}

export interface Added extends Member {
  /** Whether this call made their account, or it was there before; left out where nobody can tell. */
  account?: 'made' | 'found';
  /** How they get in, where they cannot yet; for them alone. Held to be secret. */
  invitation?: Invitation;
  /**
   * Whether the tool knows nothing of them until they accept: `findMember` is null till then. Their
   * `id` is then `invited:` and the trainer's id.
   */
  isUnlisted?: boolean;
}

export type Invitation =
  | { kind: 'link'; url: string; expiresAt: string | null }
  /** The password is the one that `Person.newPassword` asked for. */
  | { kind: 'password'; url: string; username: string };

export type UsageCount = 'seconds' | 'tasks' | 'labels';

export interface UsageRequest {
  /** IANA; days begin and end there. */
  timeZone: string;
  /** Days before this one are of no interest: `2026-03-15`. */
  firstDay: string;
  /**
   * Only what was changed at or after this instant need be told. Null asks for everything since
   * `firstDay`, and is what `complete` readings are.
   */
  changedSince: string | null;
}

/** What a member has done; counts that the tool does not have are left out. */
export type UsageObservation = {
  memberId: string;
  /** As `Member.email`, at the time of the reading: whose the work is by now. */
  email?: string | null;
} & Counts &
  (
    | /** All of one day, as the tool counts it: it replaces what was seen of that day. */
    { of: 'day'; day: string }
    /**
     * One piece of work, with what it has come to so far; a task counts once a day, however many
     * pieces of it there are. Instants. What it grows by counts on the day of its change.
     */
    | { of: 'item'; itemId: string; taskId: string; doneAt: string; changedAt: string }
    /** Everything until now, without days: they come from how it grows. */
    | { of: 'total' }
  );

/** What is to be known of a reading beside the work itself. */
export type UsageNote =
  /**
   * A task that there is, whether anything was done on it or not: a piece of work on it that a
   * reading of everything does not tell was deleted by somebody, and lowers what was reported. A
   * piece whose task is not told went with its task, or nobody can tell: it stays reported, unless
   * the operator wants it otherwise (`usage.deletedTasks`).
   */
  | { of: 'task'; taskId: string }
  /**
   * Counts that the tool cannot tell at present, of anybody: a sentence for operators, without names
   * and addresses. What was counted so far stays.
   */
  | { of: 'gap'; says: string };

export type Counts = { [count in UsageCount]?: number };
