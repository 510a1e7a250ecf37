/**
 * The port to an annotation tool. An adapter knows one kind of tool and nothing else: not who is
 * wanted, not why, not when to try again. The comments here are its contract. `conformance.ts` is the
 * executable form of it.
 *
 * Every call takes a signal, which it must pass to everything it waits for. It may be made again at any
 * time, because after a crash it is unknown whether it was made. It throws `AppError`: `unavailable` and
 * `rate_limited` are tried again; all other codes wait until the operator changes something. Messages
 * contain no secret, no address and no body.
 */
export interface Adapter {
  readonly capabilities: Capabilities;

  /**
   * Proves that the tool can be reached and that the settings are sufficient. Changes nothing. Throws if
   * Gangway cannot work with the tool; otherwise returns what an operator should know.
   */
  check(signal: AbortSignal): Promise<readonly Finding[]>;

  /**
   * Identifies this installation of the tool, independent of its address, and never changes; null if the
   * tool has no such thing. Changes nothing. Leave it out if the tool never has it: then the address in
   * the settings (`url`) identifies the installation.
   */
  identify?(signal: AbortSignal): Promise<string | null>;

  /** The id of the group that the members of a link's project are in. Pure: the same link gives the same group. */
  groupFor(link: AdapterLink): string;

  /**
   * The one form of a project's id in the tool; null for a text that cannot be an id. Pure. Only for a
   * tool whose way to resolve ids is known. Without it, Gangway uses no id with a separator, an escape,
   * another spelling of a number or the like. With it, Gangway uses only ids in this form.
   */
  canonicalGroup?(externalProjectId: string): string | null;

  /**
   * The person as a member of the group, or null. Found by `memberId` if it is known and still valid, else
   * by what identifies a person in this tool. The case of an address never matters. The account with the
   * id is returned with its present address: the adapter does not judge whether it is still the same
   * person.
   */
  findMember(groupId: string, person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account of a person in the whole tool, in a group or in none, active or not; null if there is
   * none. Found by address; by `memberId` only if that account has the address too. Called before a
   * person is added, because an account that existed before is never ended, renamed or activated. Leave
   * it out if `addMember` returns `account`, or if the tool cannot be asked: then no account counts as
   * ours.
   */
  findAccount?(person: Person, signal: AbortSignal): Promise<Member | null>;

  /**
   * The account with this id in the whole tool, even if it is hidden there; null if there is none, or if
   * it has ended already. Called if a look does not find a person who must be out, because a person who is
   * not listed may still have access. Needed with `removeAccount`.
   */
  findAccountById?(id: string, signal: AbortSignal): Promise<Member | null>;

  /**
   * Makes the person a member. A person who is a member already stays as they are. A deactivated account
   * is activated only if `person.isAccountOurs`, else this is a `conflict`. In a tool where the list of
   * members is replaced as a whole, see `person.othersAdded`.
   */
  addMember(groupId: string, person: Person, signal: AbortSignal): Promise<Added>;

  /**
   * Removes a member from this group and no other; their account stays as it is. It is no error if they
   * are not in it. It never writes back a list that may not show everyone (`Person.othersAdded`).
   *
   * @returns `unproven` if nothing in the tool shows who is in the group. Then the person does not count as
   * removed, whether the tool took the call or not
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most adapters return nothing.
  removeMember(groupId: string, member: Member, signal: AbortSignal): Promise<void | 'unproven'>;

  /**
   * For a tool in which assignments stay with a removed member: ends their assignments, in one project or,
   * if it is null, in the whole group. Called after a removal, and when a member leaves one project and
   * stays in the group for another. They may no longer be a member, and may have no assignments. It does
   * only as much as fits into one call, and is called again while it answers `more`.
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
   * Used instead of `removeMember` if the tool has logins apart from groups: removes the member from this
   * group and ends their login in the whole tool. Called only for an account that Gangway made, and only
   * if nothing else in the tool is wanted for it. It is no error if the login no longer exists.
   */
  removeAccount?(groupId: string, member: Member, signal: AbortSignal): Promise<void>;

  /**
   * Gives the account of a member the present address of the same person. Called only for an account that
   * Gangway made. The account is found by its id, so this is only for tools that never give an id out
   * again; otherwise the account of another person would get the address. If the account has the address
   * already, nothing changes; `conflict` if another account has it.
   */
  updateEmail?(groupId: string, member: Member, email: string, signal: AbortSignal): Promise<void>;

  /** All members, page by page. A page that cannot be read is an error and never the end. */
  listMembers?(groupId: string, signal: AbortSignal): AsyncIterable<Member>;

  /**
   * Only for a tool that shows no addresses, so that `findMember` by address may miss a member. Lists all
   * people who may have come into the group, or may still come, by a call made at or after `since` (an
   * instant by Gangway's clock). Called before a person counts as out whose add was never answered: an
   * empty list means that the add gave no access.
   */
  listNewcomers?(groupId: string, since: string, signal: AbortSignal): AsyncIterable<Member>;

  /** A new invitation for an invited person, if the first one expired, was used up or was lost. */
  renewInvitation?(groupId: string, member: Member, signal: AbortSignal): Promise<Invitation>;

  /**
   * For a tool with one invitation for all people: makes the present one invalid. Called after removals, for
   * several together, while other calls may be under way. Invited people who have not come in yet are
   * invited again after it.
   */
  resetInvitations?(groupId: string, signal: AbortSignal): Promise<void>;

  /**
   * The id of the scope in which the work on a link's project is counted: the project, even if the group
   * is larger. Pure. Needed with `readUsage`.
   */
  usageScopeFor?(link: AdapterLink): string;

  /**
   * The work done in a scope. A reading is complete if it ends without an error: what is not in a reading
   * of everything is gone from the tool. A part that cannot be read is an error and never the end;
   * `not_found` means that the scope does not exist.
   */
  readUsage?(scope: string, request: UsageRequest, signal: AbortSignal): AsyncIterable<UsageObservation | UsageNote>;

  /**
   * What a project shows its members as guidelines, in the format of `capabilities.guidelines`; empty if it shows none.
   * Needed with `writeGuidelines`.
   *
   * @param project an `externalProjectId`
   */
  readGuidelines?(project: string, signal: AbortSignal): Promise<string>;

  /** Replaces them, and shows them to members. The tool may clean the text, so it is read back. */
  writeGuidelines?(project: string, text: string, signal: AbortSignal): Promise<void>;
}

export interface Capabilities {
  /**
   * What a removal does: `locks_out`, or `membership_only` if a removed person could still get in, with
   * the reason for the operator.
   */
  removal: { effect: 'locks_out' } | { effect: 'membership_only'; reason: string };
  /** Whether a removed person can be added again. */
  readding: 'yes' | 'new_account' | 'no';
  /**
   * What a removal does if the account must not be ended, because it existed before or customers share
   * the tool. Needed with `removeAccount`; by default as above.
   */
  keepingAccount?: Pick<Capabilities, 'removal' | 'readding'>;
  /**
   * Whether a person that Gangway added is removed by the tool's id even if no look finds them, because
   * the look may be wrong and then they are still in. Only if the tool removes by the id. With
   * `findAccountById`, the account must still have an address of the person.
   * `if_never_seen`: not once a look has found them, because `findMember` does not find by the id, so that
   * nothing tells whose it is by now.
   */
  removesUnseen?: boolean | 'if_never_seen';
  /** What two calls must not change at the same time. */
  exclusive: 'membership' | 'group' | 'tool';
  /**
   * Whether a call can no longer take effect once the process that made it has ended, as one that changes a local file.
   * A request to a server can.
   */
  endsWithProcess?: boolean;
  /**
   * How a person without a login gets one. `none`: they have one, or the tool invites them by itself;
   * `own`: an invitation for each; `shared`: one link for all, and the tool does not know who has it;
   * `password`: an account with `Person.newPassword`. `none` by default.
   */
  invitation?: 'none' | 'own' | 'shared' | 'password';
  /** The counts that `readUsage` gives, and whether the work of a removed person is still in it. */
  usage?: { counts: readonly UsageCount[]; outlivesRemoval: boolean };
  /** The format of guidelines, in a tool that shows them. Needed with `readGuidelines`. */
  guidelines?: 'html' | 'markdown';
}

/** What an operator should know, although Gangway can work. */
export interface Finding {
  says: string;
  /** What to do about it. */
  action: string;
  /** Whether Gangway cannot keep its promise: people may get in or stay in who must not. */
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
  /** Masked, not unique, and may change. Only to be shown. */
  displayName: string | null;
  /** The tool's id of the person, from an earlier call. */
  memberId: string | null;
  /** Whether Gangway made their account. Only then may it be activated. */
  isAccountOurs?: boolean;
  /**
   * How old a list may be in which they are looked for, in milliseconds, so that one list serves several
   * looks at about the same time. By default only the present state is good enough.
   */
  maxListAgeMs?: number;
  /**
   * For tools in which the list of members is replaced as a whole: the members of the group that Gangway added, by
   * the tool's ids; some of them if they are many. Left out if the tool has never shown a member that Gangway added
   * to this group. Then the list may hide people, and is not written back; nor is a list that shows none of these.
   * Given with `exclusive: 'group'` or `'tool'`.
   */
  othersAdded?: readonly string[];
  /** For the login that the add may make (`invitation: 'password'`). The same at every attempt. */
  newPassword?: string;
}

export interface Member {
  /** The tool's id, as text. */
  id: string;
  /**
   * The address that the tool shows, or the name if it knows people only by name. Null if it shows
   * neither, or if every user may choose it: then it is unknown whether an id was given out again.
   */
  email: string | null;
  /** Invited and not in yet. That is access too, and is revoked like a membership. */
  isInvited?: boolean;
  /** When the tool made their account, as an instant, if it shows that. */
  madeAt?: string;
  /** Their name in the tool: text of a stranger, maybe the address of another person. */
  name?: string;
}

export interface Added extends Member {
  /** Whether this call made their account, or it existed before; left out if unknown. */
  account?: 'made' | 'found';
  /** How they get in, if they cannot yet. Only for them, so it is kept secret. */
  invitation?: Invitation;
  /**
   * Whether the tool knows nothing of them until they accept, so that `findMember` is null until then.
   * Their `id` is then `invited:` and the trainer's id.
   */
  isUnlisted?: boolean;
}

export type Invitation =
  | { kind: 'link'; url: string; expiresAt: string | null }
  /** The password is `Person.newPassword`. */
  | { kind: 'password'; url: string; username: string };

export type UsageCount = 'seconds' | 'tasks' | 'labels';

export interface UsageRequest {
  /** IANA. Days begin and end in this zone. */
  timeZone: string;
  /** Earlier days are not needed: `2026-03-15`. */
  firstDay: string;
  /**
   * Only work that changed at or after this instant is needed. Null asks for everything since `firstDay`;
   * only such a reading is complete.
   */
  changedSince: string | null;
}

/** The work of a member. Counts that the tool does not have are left out. */
export type UsageObservation = {
  memberId: string;
  /** As `Member.email`, at the time of the reading. It says whose the work is now. */
  email?: string | null;
} & { [count in UsageCount]?: number } & (
    | /** All of one day, as the tool counts it: it replaces what was seen of that day. */
    { of: 'day'; day: string }
    /**
     * One piece of work with its counts so far. A task counts once a day, however many pieces of work
     * it has. Times are instants. What is added counts on the day of the change.
     */
    | { of: 'item'; itemId: string; taskId: string; doneAt: string; changedAt: string }
    /** The total until now, without days. The days follow from how it grows. */
    | { of: 'total' }
  );

/** What a reading contains besides the work itself. */
export type UsageNote =
  /**
   * A task that exists, with or without work. If a piece of work on an existing task is missing in a
   * reading of everything, it was deleted, and the reported total is lowered. If its task is missing
   * too, the task was deleted or it is unknown: the work stays reported, unless the operator wants
   * otherwise (`usage.deletedTasks`). `isWhole`: all of its work is listed, however old, so that a piece which is
   * missing was deleted, however long ago it was done.
   */
  | { of: 'task'; taskId: string; isWhole?: boolean }
  /**
   * Counts that the tool cannot give at present: a sentence for operators, without names and addresses. Earlier
   * counts stay.
   */
  | { of: 'gap'; says: string };
