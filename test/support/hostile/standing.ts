/** What stands in a tool at one moment, in the same form for every tool. */
export interface Standing {
  /** By the tool's id. */
  accounts: ReadonlyMap<string, AccountState>;
  /** The ids of accounts by group; as the tool names the group, however it was asked for. */
  members: ReadonlyMap<string, readonly string[]>;
}

export interface AccountState {
  email: string;
  /** All else that is kept of it, as text: name, password, whether it is active. */
  rest: string;
}

export type StandingChange =
  | { kind: 'made'; account: string; after: AccountState }
  | { kind: 'gone'; account: string; before: AccountState }
  | { kind: 'changed'; account: string; before: AccountState; after: AccountState }
  | { kind: 'joined' | 'left'; account: string; group: string; state: AccountState };

/** Pure. Who joins has the state that they have then, and who leaves the one that they had. */
export function changesBetween(before: Standing, after: Standing): StandingChange[] {
  return [...accountChanges(before, after), ...memberChanges(before, after)];
}

function accountChanges(before: Standing, after: Standing): StandingChange[] {
  const changes: StandingChange[] = [];
  for (const [account, state] of before.accounts) {
    const now = after.accounts.get(account);
    if (now === undefined) changes.push({ kind: 'gone', account, before: state });
    else if (now.email !== state.email || now.rest !== state.rest) {
      changes.push({ kind: 'changed', account, before: state, after: now });
    }
  }
  for (const [account, state] of after.accounts) {
    if (!before.accounts.has(account)) changes.push({ kind: 'made', account, after: state });
  }
  return changes;
}

function memberChanges(before: Standing, after: Standing): StandingChange[] {
  const left = missingIn(before, after).map(
    (one): StandingChange => ({ ...one, kind: 'left', state: stateOf(before, one.account) }),
  );
  const joined = missingIn(after, before).map(
    (one): StandingChange => ({ ...one, kind: 'joined', state: stateOf(after, one.account) }),
  );
  return [...left, ...joined];
}

function missingIn(has: Standing, lacks: Standing): { group: string; account: string }[] {
  return [...has.members].flatMap(([group, ids]) => {
    const others = new Set(lacks.members.get(group));
    return ids.filter((id) => !others.has(id)).map((account) => ({ group, account }));
  });
}

export function stateOf({ accounts }: Standing, account: string): AccountState {
  return accounts.get(account) ?? { email: '', rest: '' };
}
