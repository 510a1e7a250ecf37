import { sql } from 'kysely';
import { openDatabase } from '../../src/db/open-database.ts';
import { digestOf } from '../../src/inbox/append-store.ts';
import { operations } from '../../src/operations/all.ts';
import { type Bridge, openBridge, openFolder } from './bridge.ts';
import { clockwork } from './clockwork.ts';
import { emailOf, type Job, type Market } from './market.ts';
import type { ModelTool } from './model-tool.ts';
import { type Customer, customers } from './plan.ts';

const actPaths = operations.flatMap(({ method, path }) =>
  method === 'post' ? [new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] : [],
);

/** The instances of Gangway, and what operators do with them. */
export interface Fleet {
  /** When the last known reading of a customer began. */
  readBeganMs(customer: Customer): Promise<number>;
  /** Whether an event or an answer has shown that somebody is on a contract. */
  knows(customer: Customer, contractId: string, trainerId: string): Promise<boolean>;
  /** The digests of the bodies that are stored. */
  listStored(): Promise<Set<string>>;
  /** The last event of an employer's feed that is marked as read. */
  readUpTo(customer: Customer): Promise<bigint>;
  listBudgets(): Promise<KnownBudget[]>;
  /** An operator renews all invitations that were not accepted. */
  inviteAgain(customer: Customer): Promise<void>;
  /** An operator rotates the token of an own account. */
  rotateToken(customer: Customer): Promise<void>;
  /** An operator approves all plans. */
  approveAll(): Promise<void>;
  /** An operator rejects all plans. @returns the seats in them */
  rejectAll(): Promise<string[]>;
  /** The removals that wait for approval. */
  listHeld(): Promise<{ planId: number; seat: string }[]>;
  /** An operator decides that a contract has ended or goes on. @returns the HTTP status; 0 without an answer */
  decide(customer: Customer, contractId: string, decision: 'end' | 'reopen'): Promise<number>;
  /** Whether an account is known to be that of a trainer who is in. */
  isBound(group: string, accountId: string): Promise<boolean>;
  /** An operator looks up in the tool whose accounts the doubted ones are. */
  settleDoubts(): Promise<void>;
  /** An operator runs `forget` for a person. */
  forget(trainer: string): Promise<void>;
  /** The people who were forgotten, and when. */
  forgottenPeople(): readonly { trainer: string; atMs: number }[];
  /** An operator has everything of a customer reconciled. */
  lookAgain(customer: Customer): Promise<void>;
  /** The spans that a restored database has forgotten: from the copy to the restore. */
  forgotten(): readonly { fromMs: number; untilMs: number }[];
  /** Stops all instances, does something meanwhile, and starts again after the given time. */
  restart(downMs: number, meanwhile?: () => Promise<void>): Promise<void>;
  /** Starts if nothing runs, and retries until it succeeds. */
  start(): Promise<void>;
  runSecond(forMs: number): Promise<void>;
  /** Copies the database, and restores the copy after the given time. */
  restore(afterMs: number): Promise<void>;
  /** Replaces the database with an empty one. */
  loseDatabase(): Promise<void>;
  /** Renames the tool in the next configuration. */
  renameTool(): void;
  /** Whether the next configuration has the tool under two names. */
  hasTwoNames: boolean;
  /** An operator adopts the members that Gangway added but does not know to be its own. */
  adoptFound(): Promise<void>;
  /** Whether an operator has adopted somebody since then, and the database still knows it. */
  isAdoptedSince(seat: string, ms: number): boolean;
  setAhead(ms: number): void;
  /** What the next configuration leaves out: a project, or a customer with all of theirs. */
  unnamed: Set<string>;
  /** Whether the running configuration has left out a project for a minute: no earlier call can still be in progress. */
  leavesOut(project: string): boolean;
  /** Called when everything has stopped and nothing has started yet. */
  onKilled: () => Promise<void>;
  /** When an operator last approved a plan of a customer. */
  approvedMs(customer: Customer): number;
  /** A customer delivers an arbitrary body with a valid signature. */
  deliverTo(customer: Customer, body: string, signature: string): Promise<void>;
  close(): Promise<void>;
}

export interface KnownBudget {
  install: string;
  contractId: string;
  /** When the request began that returned this. */
  askedAt: string | null;
  consumedSeconds: number | null;
  fundedVolume: number | null;
}

interface FleetSettings {
  market: Market;
  tool: ModelTool;
  hasBrake: boolean;
  /** Whether readings are rare, and deliveries are deleted after a day. */
  isQuiet: boolean;
  /** Whether the marketplace's domain is configured as managed. */
  isManaged: boolean;
  /** Further secrets of a customer, besides that of their webhook. */
  secrets: Partial<Record<Customer, string>>;
  diskFault(): Error | undefined;
  log(line: string): void;
}

const minuteMs = 60_000;
const apiToken = 'otto-may-do-everything';
export const brakeLimits = { max: 5, maxFraction: 0.3 };
const ports = { receiver: 8787, console: 8788 };

export function webhookUrlOf(customer: Customer): string {
  return `http://127.0.0.1:${ports.receiver}/webhooks/${customer}`;
}

export async function openFleet(settings: FleetSettings): Promise<Fleet> {
  const { tool, log } = settings;
  const folder = await openFolder();
  const changes = { count: 0 };
  let file = folder.create();
  let observer = openDatabase(`sqlite:${file}`);
  let first: Bridge | null = null;
  let second: Bridge | null = null;
  let starting: Promise<void> | null = null;
  let started = 0;
  let kills = 0;
  let aheadMs = 0;
  const forgotten: { fromMs: number; untilMs: number }[] = [];
  const forgottenPeople: { trainer: string; atMs: number }[] = [];
  const approved = new Map<string, number>();
  /** What the last configuration left out, and since when. */
  let leftOut = { names: [] as string[], sinceMs: 0 };
  let toolName = 'studio';
  let isRenamed = false;
  const adopted = new Map<string, number>();

  async function open(isFirst: boolean): Promise<Bridge | null> {
    started += 1;
    const name = `gangway ${started}`;
    const names = [...fleet.unnamed].sort();
    if (names.join() !== leftOut.names.join()) leftOut = { names, sinceMs: clockwork.nowMs() };
    try {
      return await openBridge({
        name,
        file,
        changes,
        config: configOf(settings, { isFirst, unnamed: fleet.unnamed, toolName, hasTwoNames: fleet.hasTwoNames }),
        isQuiet: settings.isQuiet,
        // When the tool was renamed, an operator confirms that nobody is missing.
        acceptsOrphans: fleet.unnamed.size > 0 || fleet.hasTwoNames || isRenamed,
        adapters: new Map([toolName, ...(fleet.hasTwoNames ? [otherName] : [])].map((name) => [name, tool.adapter])),
        aheadMs,
        diskFault: settings.diskFault,
        onLog: (line) => log(`  ${name}: ${line.trim()}`),
      });
    } catch (error) {
      log(`${name} could not start: ${String(error)}`);
      return null;
    }
  }

  function start(): Promise<void> {
    starting ??= startFirst().finally(() => {
      starting = null;
    });
    return starting;
  }

  async function startFirst(): Promise<void> {
    while (first === null) {
      const begun = kills;
      const opened = await open(true);
      if (opened === null) await clockwork.wait(minuteMs);
      else if (kills === begun) first = opened;
      else await opened.kill();
    }
  }

  async function killAll(): Promise<void> {
    kills += 1;
    for (const bridge of [first, second]) await bridge?.kill();
    first = null;
    second = null;
    await fleet.onKilled();
  }

  async function restart(downMs: number, meanwhile?: () => Promise<void>): Promise<void> {
    await killAll();
    await meanwhile?.();
    if (downMs > 0) await clockwork.wait(downMs);
    await start();
  }

  /** A copy of the current database, whoever has it open. */
  async function copy(): Promise<string> {
    const kept = folder.next();
    await sql`vacuum into ${kept}`.execute(observer.kysely);
    return kept;
  }

  async function putBack(kept: string, keptAtMs: number): Promise<void> {
    log(keptAtMs === 0 ? 'the database is lost' : 'the database is put back from a backup');
    await observer.close();
    file = kept;
    observer = openDatabase(`sqlite:${file}`);
    forgotten.push({ fromMs: keptAtMs, untilMs: clockwork.nowMs() });
  }

  async function act(path: string, body: object = {}): Promise<number> {
    log(`an operator does ${path}`);
    const url = `http://127.0.0.1:${ports.console}/api/v1${path}`;
    if (!actPaths.some((one) => one.test(path))) throw new Error(`The API has no ${path}`);
    const status = await post(url, JSON.stringify(body), { authorization: `Bearer ${apiToken}` });
    if (status === 400) throw new Error(`The API refuses the input of ${path}`);
    return status;
  }

  const fleet: Fleet = {
    onKilled: async () => undefined,
    approvedMs: (customer) => approved.get(customer) ?? 0,
    async readBeganMs(customer) {
      const states = observer.kysely.selectFrom('installState').select('readBeganAt');
      const state = await states.where('install', '=', customer).executeTakeFirst();
      return Date.parse(state?.readBeganAt ?? '1970-01-01');
    },
    async knows(install, contractId, trainerId) {
      const of = observer.kysely.selectFrom('participation').select('contractId').where('install', '=', install);
      const found = of.where('contractId', '=', contractId).where('trainerId', '=', trainerId);
      return (await found.executeTakeFirst()) !== undefined;
    },
    async listStored() {
      const rows = await observer.kysely.selectFrom('delivery').select('bodySha256').execute();
      return new Set(rows.map(({ bodySha256 }) => digestOf(bodySha256).toString('hex')));
    },
    async readUpTo(customer) {
      const feeds = observer.kysely.selectFrom('feed').select('cursor').where('install', '=', customer);
      return BigInt((await feeds.executeTakeFirst())?.cursor ?? 0);
    },
    async approveAll() {
      const plans = observer.kysely.selectFrom('plan').select(['id', 'install']);
      const open = await plans.where('decidedAt', 'is', null).execute();
      for (const { id, install } of open) {
        approved.set(install, clockwork.nowMs());
        await act(`/plans/${id}/approve`);
      }
    },
    async rejectAll() {
      const held = await fleet.listHeld();
      for (const id of new Set(held.map(({ planId }) => planId))) await act(`/plans/${id}/reject`);
      return held.map(({ seat }) => seat);
    },
    async listHeld() {
      const held = await observer.kysely
        .selectFrom('plan')
        .innerJoin('planItem', 'planItem.planId', 'plan.id')
        .innerJoin('membership', 'membership.id', 'planItem.membershipId')
        .select(['planId', 'groupId', 'trainerId'])
        .where('decidedAt', 'is', null)
        .execute();
      return held.map(({ planId, groupId, trainerId }) => ({ planId, seat: `${groupId}/${emailOf(trainerId)}` }));
    },
    decide: (customer, contractId, decision) => act(`/contracts/${contractId}/${decision}`, { install: customer }),
    async isBound(groupId, memberId) {
      const memberships = observer.kysely.selectFrom('membership').select('id').where('state', '=', 'active');
      const found = await memberships
        .where('groupId', '=', groupId)
        .where('memberId', '=', memberId)
        .executeTakeFirst();
      return found !== undefined;
    },
    async settleDoubts() {
      const memberships = observer.kysely.selectFrom('membership').select(['id', 'trainerId', 'doubtedId']);
      for (const { id, trainerId, doubtedId } of await memberships.where('doubtedId', 'is not', null).execute()) {
        const address = tool.addressOf(doubtedId ?? '', emailOf(trainerId));
        if (address === null) await act('/memberships/release', { membership: id, doubted: true });
        else await act('/memberships/adopt', { membership: id, address });
      }
    },
    async lookAgain(customer) {
      const memberships = observer.kysely.selectFrom('membership').select('id').where('install', '=', customer);
      for (const { id } of await memberships.execute()) await act(`/memberships/${id}/converge`);
      await act('/reconcile', { install: customer, wait: '0s' });
      await act('/deliveries/replay', { failed: true });
    },
    listBudgets: () =>
      observer.kysely
        .selectFrom('budget')
        .select(['install', 'contractId', 'askedAt', 'consumedSeconds', 'fundedVolume'])
        .execute(),
    async inviteAgain(customer) {
      const memberships = observer.kysely.selectFrom('membership').select('id').where('install', '=', customer);
      const invited = await memberships.where('state', '=', 'invited').execute();
      for (const { id } of invited) await act(`/memberships/${id}/invitation/renew`);
    },
    rotateToken: async (customer) => void (await act(`/installs/${customer}/token/rotate`)),
    async forget(trainer) {
      const status = await act('/forget', { person: trainer, yes: true });
      // Without an answer, part of it may have been deleted.
      if (status < 400 || status >= 500) forgottenPeople.push({ trainer, atMs: clockwork.nowMs() });
    },
    forgottenPeople: () => forgottenPeople,
    forgotten: () => forgotten,
    restart,
    start,
    async runSecond(forMs) {
      if (second !== null) return;
      const begun = kills;
      const opened = await open(false);
      if (kills !== begun || second !== null) return await opened?.kill();
      second = opened;
      await clockwork.wait(forMs);
      if (second !== opened) return;
      second = null;
      await opened?.kill();
    },
    async restore(afterMs) {
      let kept = '';
      const keptAtMs = clockwork.nowMs();
      await restart(0, async () => {
        kept = await copy();
      });
      await clockwork.wait(afterMs);
      await restart(minuteMs, () => putBack(kept, keptAtMs));
    },
    loseDatabase: () => restart(minuteMs, () => putBack(folder.create(), 0)),
    renameTool() {
      toolName = toolName === 'studio' ? 'atelier' : 'studio';
      isRenamed = true;
    },
    hasTwoNames: false,
    async adoptFound() {
      const found = await observer.kysely
        .selectFrom('membership')
        .select(['id', 'groupId', 'trainerId'])
        .where('isOurs', '=', false)
        .where('releasedBy', 'is', null)
        .where('state', 'in', ['active', 'invited', 'released'])
        .execute();
      for (const { id, groupId, trainerId } of found) {
        const seat = `${groupId}/${emailOf(trainerId)}`;
        if (tool.isByHand(seat) || !tool.hasOneAccount(seat)) continue;
        const status = await act('/memberships/adopt', { membership: id });
        if (status > 0 && status < 400) adopted.set(seat, clockwork.nowMs());
      }
    },
    isAdoptedSince(seat, ms) {
      const atMs = adopted.get(seat) ?? 0;
      return atMs > ms && forgotten.every(({ fromMs, untilMs }) => atMs < fromMs || atMs > untilMs);
    },
    unnamed: new Set(),
    leavesOut(project) {
      const isLeftOut = leftOut.names.some((name) => project === name || project.startsWith(`${name}-`));
      return isLeftOut && clockwork.nowMs() - leftOut.sinceMs > minuteMs;
    },
    setAhead(ms) {
      aheadMs = ms;
    },
    async deliverTo(customer, body, signature) {
      await post(webhookUrlOf(customer), body, { 'x-opentrain-signature': signature });
    },
    async close() {
      fleet.onKilled = async () => undefined;
      await killAll();
      await observer.close();
      folder.remove();
    },
  };
  await start();
  return fleet;
}

/** @returns the HTTP status; 0 without an answer, because the instance may have died */
async function post(url: string, body: string, headers: Record<string, string>): Promise<number> {
  const signal = AbortSignal.timeout(90_000);
  const all = { 'content-type': 'application/json', ...headers };
  const answer = await fetch(url, { method: 'POST', headers: all, body, signal }).catch(() => undefined);
  return answer?.status ?? 0;
}

/** The second name of the tool. */
const otherName = 'double';

interface Configured {
  isFirst: boolean;
  unnamed: ReadonlySet<string>;
  toolName: string;
  hasTwoNames: boolean;
}

function configOf(
  { market, hasBrake, isQuiet, isManaged, secrets }: FleetSettings,
  { isFirst, unnamed, toolName, hasTwoNames }: Configured,
): object {
  const server = { adapter: 'roster', path: '/nowhere' };
  const { baseUrl, employerBaseUrl } = market.addresses;
  return {
    receiver: {
      host: '127.0.0.1',
      port: isFirst ? ports.receiver : 0,
      drain: '0s',
      publicUrl: `http://127.0.0.1:${ports.receiver}`,
    },
    console: {
      host: '127.0.0.1',
      port: isFirst ? ports.console : 0,
      tokens: { otto: { token: apiToken, role: 'operator' } },
    },
    marketplace: { baseUrl, employerBaseUrl, managedDomains: isManaged ? ['opentrain.work'] : [] },
    reconcile: { schedule: isQuiet ? '0 */3 * * *' : '*/30 * * * *' },
    subscription: { every: isQuiet ? '2h' : '20m' },
    usage: { maxLoweredFraction: 1, ...(isQuiet && { schedule: '30 */6 * * *' }) },
    ...(isQuiet && { retention: { deliveries: '1d', people: '1d' } }),
    removals: hasBrake ? brakeLimits : { max: 1000, maxFraction: 1 },
    tools: { [toolName]: server, ...(hasTwoNames && { [otherName]: server }) },
    installs: Object.fromEntries(
      customers
        .filter((customer) => !unnamed.has(customer) && namedJobsOf(market, customer, unnamed).length > 0)
        .map((customer) => {
          const webhookSecrets = [market.secretOf(customer), ...[secrets[customer] ?? []].flat()];
          const toolOf = hasTwoNames && customer === 'acme' ? otherName : toolName;
          return [customer, { ...installOf(market, customer, unnamed), tool: toolOf, webhookSecrets }];
        }),
    ),
  };
}

function namedJobsOf(market: Market, customer: Customer, unnamed: ReadonlySet<string>): Job[] {
  return market.jobsOf(customer).filter(({ project }) => !unnamed.has(project));
}

function installOf(market: Market, customer: Customer, unnamed: ReadonlySet<string>): object {
  const named = namedJobsOf(market, customer, unnamed);
  const isAll = named.length === market.jobsOf(customer).length;
  const names = named.map(({ project }) => project);
  const projects = isAll ? [`${customer}-*`, ...names] : names;
  const install = { token: market.bridgeTokenOf(customer), projects };
  if (customer !== 'own') return install;
  const jobs = Object.fromEntries(named.map(({ id, project }) => [id, project]));
  return { ...install, source: 'employer', jobs };
}
