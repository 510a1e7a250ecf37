import { orNotFound, Refusal } from './refusal.ts';

export interface AccountOptions {
  isClaimed?: boolean;
  featuresOff?: string[];
  hasTeams?: boolean;
}

export interface Account extends Required<AccountOptions> {
  id: string;
}

/** A record as the API shows it. */
// biome-ignore lint/suspicious/noExplicitAny: the judge checks each of its fields
type Fields = any;

type Kind =
  | 'event'
  | 'job'
  | 'contract'
  | 'approval'
  | 'invoice'
  | 'topUp'
  | 'webhook'
  | 'proposal'
  | 'message'
  | 'manual'
  | 'workspace';

/** What the second marketplace keeps for employers. */
export class EmployerState {
  readonly accounts = new Map<string, Account>();
  /** By its value. */
  readonly tokens = new Map<string, { account: Account; record: Fields }>();
  /** What counts against a limit: when, in Unix milliseconds. */
  readonly counted = new Map<string, number[]>();
  readonly #clock: { now(): Date };
  readonly #kept: { kind: Kind; accountId: string; record: Fields }[] = [];
  #ids = 0;

  constructor(clock: { now(): Date }) {
    this.#clock = clock;
  }

  nextId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#ids.toString(36).padStart(6, '0')}`;
  }

  now(): number {
    return this.#clock.now().getTime();
  }

  at(laterMs = 0): string {
    return new Date(this.now() + laterMs).toISOString();
  }

  keep(kind: Kind, accountId: string, record: object): Fields {
    const kept = { id: this.nextId(kind), ...record };
    this.#kept.push({ kind, accountId, record: kept });
    return kept;
  }

  /** Oldest first. */
  list(kind: Kind, accountId: string): Fields[] {
    return this.#kept.filter((one) => one.kind === kind && one.accountId === accountId).map(({ record }) => record);
  }

  /** Whosever it is. */
  find(kind: Kind, id: string | undefined): { accountId: string; record: Fields } | undefined {
    return this.#kept.find((one) => one.kind === kind && one.record.id === id);
  }

  /** @throws Refusal `NOT_FOUND` for another account's too */
  own(kind: Kind, { id: accountId }: Account, id: string | undefined, details?: object): Fields {
    const found = this.find(kind, id);
    return orNotFound(found?.accountId === accountId ? found.record : undefined, kind, details);
  }

  remove(record: Fields): void {
    const index = this.#kept.findIndex((one) => one.record === record);
    this.#kept.splice(index, 1);
  }

  /** @throws Refusal `RATE_LIMITED` if there were as many in the time before */
  count(key: string, { limit, windowMs, details }: { limit: number; windowMs: number; details?: object }): void {
    const times = (this.counted.get(key) ?? []).filter((at) => at > this.now() - windowMs);
    if (times.length >= limit) throw new Refusal('RATE_LIMITED', 'too many', details);
    this.counted.set(key, [...times, this.now()]);
  }

  raise(accountId: string, type: string, jobId: string | null, data: Record<string, string | null>): void {
    // Greater than what a JavaScript number can tell apart.
    const id = String(9_007_199_254_740_993n + BigInt(this.list('event', accountId).length));
    const [resourceId] = Object.values(data);
    this.keep('event', accountId, { id, type, apiVersion: 'v1', createdAt: this.at(), resourceId, jobId, data });
  }
}

export const hourMs = 3_600_000;

export function createAccount(state: EmployerState, options: AccountOptions = {}): Account {
  const account = { isClaimed: true, featuresOff: [], hasTeams: true, ...options, id: state.nextId('org') };
  state.accounts.set(account.id, account);
  return account;
}

/** Section 2.1. */
export function createToken(state: EmployerState, account: Account, fields: { name: string; scopes: string[] }) {
  const [id, value] = [state.nextId('tok'), `ot_pat_${state.nextId('second')}`];
  const dates = { createdAt: state.at(), lastUsedAt: null, expiresAt: null, revokedAt: null };
  const shown = { id, preview: `${value.slice(0, 8)}…`, status: 'active', organizationId: account.id };
  const record = { ...shown, ...dates, ...fields };
  state.tokens.set(value, { account, record });
  return { value, record };
}

/** Section 2.4. */
export function hire(state: EmployerState, accountId: string, jobId: string): Fields {
  const proposalId = state.nextId('prp');
  const contract = state.keep('contract', accountId, {
    ...{ status: 'active', title: 'Labelling', jobId, proposalId, paymentType: 'PAY_PER_HOUR', rateUsd: 20 },
    ...{ estimatedTotalUsd: null, estimatedVolume: null, hasActiveMilestone: false, milestones: [] },
    ...{ startDate: state.at(), endDate: null, createdAt: state.at(), updatedAt: state.at() },
    freelancer: { userId: state.nextId('usr'), displayName: 'Ana D.', country: 'PT', profilePath: '/trainers/ana' },
  });
  state.raise(accountId, 'contract.created', jobId, { contractId: contract.id, jobId, proposalId });
  return contract;
}

export function endContract(state: EmployerState, contract: Fields): void {
  Object.assign(contract, { status: 'ended', endDate: state.at(), updatedAt: state.at() });
}

/** Section 2.6. A person confirms or declines it, or it expires; each raises the event. */
export function resolveApproval(state: EmployerState, accountId: string, approval: Fields, status: string): void {
  Object.assign(approval, { status, resolvedAt: state.at() });
  if (status === 'confirmed') {
    endContract(state, state.find('contract', approval.contractId)?.record);
    approval.result = { contractId: approval.contractId, status: 'ended' };
  }
  state.raise(accountId, 'approval.confirmed', approval.jobId, { approvalId: approval.id, status });
}

/** A `:write` scope covers its `:read`. */
export function covers(scopes: string[], wanted: string): boolean {
  return scopes.includes(wanted) || scopes.includes(wanted.replace(/:read$/, ':write'));
}
