/**
 * The port to an annotation tool. An adapter knows one kind of tool and nothing else: not who should be a member, nor
 * why, nor when to retry. The comments here are its contract, and `conformance.ts` tests it.
 *
 * Every call takes a signal, which it must pass to everything it waits for. Any call may be repeated, because after a
 * crash nobody knows whether it was made. It throws `AppError`: `unavailable` and `rate_limited` are retried soon, all
 * others only hourly. Messages contain no secret, no address and no body.
 */
export interface Adapter {
  readonly capabilities: Capabilities;

  /**
   * Checks that the tool can be reached and that the settings are sufficient. Changes nothing. Throws if Gangway cannot
   * work with the tool; otherwise returns what an operator should know.
   */
  check(signal: AbortSignal): Promise<readonly Finding[]>;

  /**
   * A text that identifies this installation of the tool wherever it moves; null if it has none. Changes nothing. Leave
   * it out if the tool never has one: then the address in the settings (`url`) identifies the installation.
   */
  identify?(signal: AbortSignal): Promise<string | null>;

  /** The id of the group whose members work on the link's project. Pure: the same link gives the same group. */
  groupFor(link: AdapterLink): string;

  /**
   * The canonical form of a project's id; null for a text that cannot be an id. Pure. Only for a tool whose way to resolve
   * ids is known. With it, Gangway uses only ids in this form. Without it, Gangway refuses ids with a separator, an
   * escape, another spelling of a number or the like.
   */
  canonicalGroup?(externalProjectId: string): string | null;

  /**
   * The person as a member of the group, or null. Found by `memberId` if it is known and still valid, else by what
   * identifies a person in this tool. The case of an address never matters. An account that is found by its id is returned
   * with its present address, even if it may be another person by now: that is not for the adapter to judge.
   */
  findMember(groupId: string, person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account of a person in the whole tool, in a group or in none, active or not; null if there is none. Found by
   * address; by `memberId` only if that account has the address too. Called before a person is added, because Gangway
   * never ends, renames or activates an account that existed before. Leave it out if `addMember` returns `account`, or if
   * the tool cannot look accounts up: then no account is ours.
   */
  findAccount?(person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account with this id in the whole tool, even if it is hidden there; null if there is none or it has ended. Called
   * if a look does not find a person who must be out, because somebody who is not listed may still have access. Needed
   * with `removeAccount`.
   */
  findAccountById?(id: string, signal: AbortSignal): Promise<Member | null>;

  /**
   * Makes the person a member, or leaves a member as they are. A deactivated account is activated only if
   * `person.isAccountOurs`; otherwise the call fails with `conflict`. If the tool replaces the whole list of members, see
   * `person.othersAdded`.
   */
  addMember(groupId: string, person: Person, signal: AbortSignal): Promise<Added>;

  /**
   * Removes a member from this group and no other; their account stays as it is. It is no error if they are not in it. It
   * never writes back a list that may be incomplete (`Person.othersAdded`).
   *
   * @returns `unproven` if nothing in the tool shows who is in the group. Then Gangway does not take the person for
   * removed, even if the tool accepted the call
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most adapters return nothing.
  removeMember(groupId: string, member: Member, signal: AbortSignal): Promise<void | 'unproven'>;

  /**
   * For a tool in which a removed member keeps their assignments: ends them, in one project or, if it is null, in the
   * whole group. Called after a removal, and when a member leaves one project and stays in the group for another. They may
   * not be a member any more, and may have no assignments. It does only as much as fits into one call, and is called again
   * while it answers `more`.
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
   * Used instead of `removeMember` if the tool has logins apart from groups: removes the member from this group and ends
   * their login in the whole tool. Called only for an account that Gangway created, when it has no other membership in the
   * tool. It is no error if the login no longer exists.
   */
  removeAccount?(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /**
   * Gives the account of a member the new address of the same person, unless it has it already; `conflict` if another
   * account has it. Called only for an account that Gangway created. The account is found by its id, so this is only for tools that never give an id
   * out again; otherwise another person's account might get the address.
   */
  updateEmail?(groupId: string, member: Member, email: string, signal: AbortSignal): Promise<void>;

  /** All members, page by page. A page that cannot be read is an error and never the end. */
  listMembers?(groupId: string, signal: AbortSignal): AsyncIterable<Member>;

  /**
   * Only for a tool that shows no addresses, so that `findMember` by address may miss a member. Lists everyone who may have
   * come into the group, or may still come, by a call made at or after `since` (an instant by Gangway's clock). Called if
   * an add was never answered, before the person is taken for out: an empty list means that the add gave no access.
   */
  listNewcomers?(groupId: string, since: string, signal: AbortSignal): AsyncIterable<Member>;

  /** A new invitation for an invited person whose first one expired, was used up or was lost. */
  renewInvitation?(groupId: string, member: Member, signal: AbortSignal): Promise<Invitation>;

  /**
   * For a tool with one invitation for everyone: invalidates the present one. Called once after several removals, while
   * other calls may be under way. People who have not accepted yet are then invited again.
   */
  resetInvitations?(groupId: string, signal: AbortSignal): Promise<void>;

  /**
   * The id of the scope in which the work on a link's project is counted: the project, even if the group is larger. Pure.
   * Needed with `readUsage`.
   */
  usageScopeFor?(link: AdapterLink): string;

  /**
   * The work done in a scope. A reading that ends without an error is complete: what a reading of everything lacks is gone
   * from the tool. A part that cannot be read is an error, never the end. `not_found`: the scope does not exist.
   */
  readUsage?(scope: string, request: UsageRequest, signal: AbortSignal): AsyncIterable<UsageObservation | UsageNote>;

  /**
   * The guidelines that a project shows its members, in the format of `capabilities.guidelines`; empty if it shows none.
   * Needed with `writeGuidelines`.
   *
   * @param project an `externalProjectId`
   */
  readGuidelines?(project: string, signal: AbortSignal): Promise<string>;

  /** Replaces the guidelines and shows them to members. They are read back, because the tool may clean the text. */
  writeGuidelines?(project: string, text: string, signal: AbortSignal): Promise<void>;
}

export interface Capabilities {
  /** Whether a removal locks the person out. The reason tells the operator how a removed person could still get in. */
  removal: { effect: 'locks_out' } | { effect: 'membership_only'; reason: string };
  /** Whether a removed person can be added again. */
  readding: 'yes' | 'new_account' | 'no';
  /**
   * The same for a removal that must keep the account, because it existed before or customers share the tool. Needed with
   * `removeAccount`; by default as above.
   */
  keepingAccount?: Pick<Capabilities, 'removal' | 'readding'>;
  /**
   * Whether a person that Gangway added is removed by the tool's id even if no look finds them, because the look may be
   * wrong and they may still be in. Only if the tool removes by id. With `findAccountById`, the account must still have an
   * address of the person. `if_never_seen`: only if no look has ever found them, because `findMember` does not find by id,
   * so that nobody knows whose id it is by now.
   */
  removesUnseen?: boolean | 'if_never_seen';
  /** What two simultaneous calls must not both change. */
  exclusive: 'membership' | 'group' | 'tool';
  /** Whether a call dies with the process that made it, like a change of a local file and unlike a request to a server. */
  endsWithProcess?: boolean;
  /**
   * How a person without a login gets one. `none`, the default: they have one, or the tool itself invites them; `own`: an
   * invitation for each; `shared`: one link for everyone, and the tool does not know who has it; `password`: an account
   * with `Person.newPassword`.
   */
  invitation?: 'none' | 'own' | 'shared' | 'password';
  /** The counts that `readUsage` gives, and whether it still has the work of a removed person. */
  usage?: { counts: readonly UsageCount[]; outlivesRemoval: boolean };
  /** The format of guidelines, in a tool that shows them. Needed with `readGuidelines`. */
  guidelines?: 'html' | 'markdown';
}

/** What an operator should know. */
export interface Finding {
  says: string;
  /** What to do about it. */
  action: string;
  /** Whether people may get in, or stay in, who must not. */
  isFailure: boolean;
}

export interface AdapterLink {
  externalProjectId: string;
  externalProjectName: string | null;
}

export interface Person {
  /** `opentrainUserId`, which identifies the person. */
  trainerId: string;
  email: string;
  /** Only for showing: it is masked, not unique, and may change. */
  displayName: string | null;
  /** The tool's id of the person, from an earlier call. */
  memberId: string | null;
  /** Whether Gangway created their account. Only then may it be activated. */
  isAccountOurs?: boolean;
  /**
   * How old a list may be in which they are looked for, in milliseconds, so that one list serves several looks. 0 by
   * default.
   */
  maxListAgeMs?: number;
  /**
   * For tools that replace the whole list of members: the tool's ids of members of the group that Gangway added (some of
   * them if there are many). A list that shows none of these may hide people, and is not written back. Left out if the
   * tool has never shown a member that Gangway added to this group: then no list is written back. Given with
   * `exclusive: 'group'` or `'tool'`.
   */
  othersAdded?: readonly string[];
  /** For a login that the add creates (`invitation: 'password'`). The same at every attempt. */
  newPassword?: string;
}

export interface Member {
  /** The tool's id, as text. */
  id: string;
  /**
   * The address that the tool shows, or the name if it knows people only by name. Null if it shows neither, or if users may
   * choose it freely: then nobody knows whether an id was given out again.
   */
  email: string | null;
  /** Invited, but not in yet. An invitation gives access too, and is revoked like a membership. */
  isInvited?: boolean;
  /** When the account was created, as an instant, if the tool shows it. */
  madeAt?: string;
  /** Their name in the tool, which they may have chosen, even the address of another person. */
  name?: string;
}

export interface Added extends Member {
  /** Whether this call created their account, or it existed before; left out if unknown. */
  account?: 'made' | 'found';
  /** How they get in, if they cannot yet. It is kept secret from everyone else. */
  invitation?: Invitation;
  /**
   * Whether the tool does not know them until they accept, so that `findMember` answers null. Their `id` is then
   * `invited:` and the trainer's id.
   */
  isUnlisted?: boolean;
}

export type Invitation =
  | { kind: 'link'; url: string; expiresAt: string | null }
  /** The password is `Person.newPassword`. */
  | { kind: 'password'; url: string; username: string };

export type UsageCount = 'seconds' | 'tasks' | 'labels';

export interface UsageRequest {
  /** The IANA time zone of the days. */
  timeZone: string;
  /** Earlier days are not needed: `2026-03-15`. */
  firstDay: string;
  /** Only work that changed at or after this instant is needed. Null asks for everything since `firstDay`. */
  changedSince: string | null;
}

/** The work of a member. Counts that the tool does not have are left out. */
export type UsageObservation = {
  memberId: string;
  /** As `Member.email`, at the time of the reading: whose work it is by now. */
  email?: string | null;
} & { [count in UsageCount]?: number } & (
    | /** The whole day, as the tool counts it: it replaces what was seen of that day. */
    { of: 'day'; day: string }
    /**
     * One piece of work with its counts so far. A task counts once a day, however many pieces of work it has. Times are
     * instants. What a change adds counts on the day of the change.
     */
    | { of: 'item'; itemId: string; taskId: string; doneAt: string; changedAt: string }
    /** The total until now. Days follow from how it grows. */
    | { of: 'total' }
  );

/** What a reading contains besides the work itself. */
export type UsageNote =
  /**
   * A task that exists, with or without work. If a reading of everything lacks a piece of work on an existing task, the
   * piece was deleted, and the reported total is lowered. If it lacks the task too, the work stays reported, unless the
   * operator sets `usage.deletedTasks`. `isWhole`: all work on the task is listed, however old, so that a missing piece was
   * deleted, however old it was.
   */
  | { of: 'task'; taskId: string; isWhole?: boolean }
  /** Counts that the tool cannot give at present: a sentence for operators without names or addresses. Old counts stay. */
  | { of: 'gap'; says: string };
