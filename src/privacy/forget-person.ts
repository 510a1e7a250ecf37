import { setTimeout as wait } from 'node:timers/promises';
import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { maskEmail } from '../lib/mask.ts';
import { stripBom } from '../lib/strip-bom.ts';
import { clearFindingTraces, countFindingTraces } from '../reconcile/drift/finding-trace-store.ts';
import { clearWorkTraces, countWorkTraces } from '../usage/read/work-trace-store.ts';
import type { PersonStore } from './person-store.ts';
import { type ForgetPlan, type Need, type PersonOnRecord, planForget } from './plan-forget.ts';
import type { RetentionStore } from './retention-store.ts';

export interface ForgetDeps {
  database: Database;
  box: SecretBox;
  inbox: InboxStore;
  people: PersonStore;
  retention: RetentionStore;
  /** As `EvidenceStore.lock`: the evidence must not change between the decision and the write. */
  lockEvidence(tx: Transaction): Promise<void>;
  clock: Clock;
  signal: AbortSignal;
}

/** What was cleared, or would be. */
export interface Forgotten {
  trainerId: string;
  /** The installs that no longer know anything of the trainer. */
  installs: string[];
  /** Installs that still need to know the trainer. There, nothing was cleared. */
  neededBy: Need[];
  /** Installs in which a name or address was known. */
  people: number;
  /** Titles of the trainer's contracts. */
  titles: number;
  /** Stored requests that named the trainer. */
  deliveries: number;
  /** Memberships, receipts and invitations with data that a tool gave about the trainer. */
  toolTraces: number;
  /** Requests that name the trainer and are not handled yet. They stay. */
  deliveriesLeft: number;
}

export interface ForgetWish {
  dryRun: boolean;
  by: By;
  /** The only install that is to forget the trainer; undefined for every install that can. */
  install?: string | undefined;
}

/** Bodies are opened one by one; the thread is free between two pages. */
const pageSize = 100;
const restMs = 5;

/**
 * Clears everything personal of one trainer at once, whatever the retention, in every install that no longer needs
 * it. The ids stay, with a note: what an old delivery brings back is not kept until the trainer is hired there again.
 *
 * @param who a trainer id, or a work address
 * @throws AppError `not_found`, or `conflict` while every install has a contract with the trainer, or has the trainer
 *   in a tool
 */
export async function forgetPerson(
  deps: ForgetDeps,
  who: string,
  { dryRun, by, install }: ForgetWish,
): Promise<Forgotten> {
  const { database } = deps;
  const trainerId = await findTrainer(deps, who, install);
  const foreseen = planForget(await loadPerson(deps, database.kysely, trainerId), install);
  // Deliveries are cleared first, chunk by chunk. After a crash they are found again by the addresses, which are cleared
  // last.
  const scope = await collectNames(deps, trainerId, { install, ...foreseen });
  const deliveries = await clearDeliveries(deps, scope, dryRun);

  const cleared = await inTransaction(database, async (tx) => {
    await deps.lockEvidence(tx);
    const known = await loadPerson(deps, tx, trainerId);
    // A trainer who was hired meanwhile must not be half forgotten.
    for (const one of foreseen.cleared) planForget(known, one);
    const plan = planForget(known, install);
    if (!dryRun) await writeAudit(tx, by, 'forget', `trainer ${trainerId} at ${plan.cleared.join(', ')}`);
    return { plan, ...(await clearKnown(deps, tx, known, plan, dryRun)) };
  });
  const { plan, ...counts } = cleared;
  return { trainerId, installs: plan.cleared, neededBy: plan.neededBy, ...counts, ...deliveries };
}

async function clearKnown(
  { people, retention, clock }: ForgetDeps,
  tx: Transaction,
  { trainerId, contracts }: PersonOnRecord,
  { cleared, membershipIds, keptMembershipIds }: ForgetPlan,
  dryRun: boolean,
): Promise<Pick<Forgotten, 'people' | 'titles' | 'toolTraces'>> {
  const isCleared = ({ install }: { install: string }) => cleared.includes(install);
  const named = (await people.peopleOf(tx, trainerId)).filter(
    (person) => isCleared(person) && (person.displayName !== null || person.workEmail !== null),
  );
  const titled = contracts.filter((one) => isCleared(one) && one.title !== null);
  const ofWork = await countWorkTraces(tx, trainerId, keptMembershipIds);
  const ofListings = await countFindingTraces(tx, trainerId, cleared);
  const toolTraces = ofWork + ofListings + (await people.countToolTraces(tx, membershipIds));
  if (!dryRun) {
    await clearFindingTraces(tx, trainerId, cleared);
    await retention.clearPeople(tx, named);
    await retention.clearTitles(tx, titled);
    await clearWorkTraces(tx, trainerId, keptMembershipIds);
    await people.clearToolTraces(tx, membershipIds);
    await retention.clearInvitations(tx, membershipIds);
    const forgotten = cleared.map((install) => ({ install, trainerId }));
    await retention.forget(tx, forgotten, toInstant(clock.now()));
  }
  return { people: named.length, titles: titled.length, toolTraces };
}

async function findTrainer({ people, box }: ForgetDeps, who: string, install: string | undefined): Promise<string> {
  if (await people.isKnown(who)) return who;
  if (!who.includes('@')) throw new AppError('not_found', `There is no trainer ${who}`);
  const digest = box.digest(who.trim().toLowerCase());
  const [trainerId, ...others] = await people.findByDigest(digest, install);
  if (trainerId === undefined) {
    throw new AppError('not_found', `No person is known by the address ${maskEmail(who)}`);
  }
  if (others.length === 0) return trainerId;
  const ids = [trainerId, ...others].join(', ');
  throw new AppError('conflict', `Several trainers have that address: name one by id (${ids})`);
}

async function loadPerson(
  { people, retention }: ForgetDeps,
  tx: Transaction,
  trainerId: string,
): Promise<PersonOnRecord> {
  const memberships = await retention.membershipsOf(tx, [trainerId]);
  const ids = memberships.map(({ id }) => id);
  const forgotten = await retention.forgottenOf(tx, [trainerId]);
  return {
    trainerId,
    memberships,
    installs: await people.installsOf(tx, trainerId),
    forgottenBy: new Set(forgotten.map(({ install }) => install)),
    contracts: await retention.contractsOf(tx, [trainerId]),
    reasons: await retention.reasonsOf(tx, ids),
  };
}

/** What a delivery of an install may name the trainer by; undefined where its deliveries are kept. */
type NamesIn = (install: string) => Names | undefined;

/** For each install only its own addresses: an address that another install made up may belong to another person. */
async function collectNames(
  { database, box, people, retention }: ForgetDeps,
  trainerId: string,
  { install: only, neededBy }: Pick<ForgetPlan, 'neededBy'> & Pick<ForgetWish, 'install'>,
): Promise<NamesIn> {
  const known = await people.peopleOf(database.kysely, trainerId);
  const contracts = await retention.contractsOf(database.kysely, [trainerId]);
  const kept = new Set(neededBy.map(({ install }) => install));
  return (install) => {
    if (only === undefined ? kept.has(install) : install !== only) return undefined;
    const sealed = known.find((person) => person.install === install)?.workEmail ?? null;
    const context = workEmailContext({ install, trainerId });
    const addresses = sealed === null ? [] : [box.open(sealed, context).toString('utf8')];
    const theirs = contracts.filter((contract) => contract.install === install);
    return {
      trainerId,
      addresses: new Set(addresses.map((address) => address.toLowerCase())),
      contractIds: new Set(theirs.map(({ contractId }) => contractId)),
    };
  };
}

/** Page by page, so that transactions stay short. Deliveries that are not handled yet are left and counted. */
async function clearDeliveries({ inbox, signal }: ForgetDeps, namesIn: NamesIn, dryRun: boolean) {
  let [deliveries, deliveriesLeft] = [0, 0];
  const names = new Map<string, Names | undefined>();
  for (let lastId = 0; ; ) {
    const page = await inbox.page(lastId, pageSize);
    const theirs = page.filter((delivery) => {
      const { install } = delivery;
      if (!names.has(install)) names.set(install, namesIn(install));
      return isAbout(inbox, delivery, names.get(install));
    });
    const settled = theirs.filter(({ nextAttemptAt }) => nextAttemptAt === null);
    const removed = dryRun ? settled.length : await inbox.remove(settled.map(({ id }) => id));
    deliveries += removed;
    deliveriesLeft += theirs.length - removed;
    if (page.length < pageSize) return { deliveries, deliveriesLeft };
    lastId = page.at(-1)?.id ?? 0;
    await wait(restMs, undefined, { signal });
  }
}

/** A body that cannot be opened names no one. */
function isAbout(
  inbox: InboxStore,
  delivery: Parameters<InboxStore['openBody']>[0],
  names: Names | undefined,
): boolean {
  if (names === undefined) return false;
  try {
    return namesPerson(inbox.openBody(delivery), names);
  } catch {
    return false;
  }
}

/** What a delivery may name a person by. */
interface Names {
  trainerId: string;
  /** In lower case. */
  addresses: ReadonlySet<string>;
  contractIds: ReadonlySet<string>;
}

/**
 * Whether a stored body names a person: by id or address anywhere in it, or by a record without an id on one of the
 * person's contracts. A body that is not JSON is searched as text.
 */
export function namesPerson(body: Uint8Array, names: Names): boolean {
  const text = stripBom(Buffer.from(body).toString('utf8'));
  const json = tryParse(text);
  if (json === undefined) return isInText(text, names);
  const strings = [...stringsOf(json)];
  if (strings.some((value) => isTheirs(value, names))) return true;
  return hasNamelessPerson(json) && strings.some((value) => names.contractIds.has(value));
}

function isTheirs(value: string, { trainerId, addresses }: Names): boolean {
  return value === trainerId || addresses.has(value.toLowerCase());
}

function isInText(text: string, { trainerId, addresses }: Names): boolean {
  const lower = text.toLowerCase();
  return text.includes(trainerId) || [...addresses].some((address) => lower.includes(address));
}

function hasNamelessPerson(json: unknown): boolean {
  const data = fieldOf(json, 'data');
  const freelancer = fieldOf(data, 'freelancer');
  return isObject(freelancer) && typeof fieldOf(freelancer, 'opentrainUserId') !== 'string';
}

/** Every string in it, at any depth. A stack replaces recursion, because strangers may nest very deep. */
function* stringsOf(json: unknown): Generator<string> {
  const stack = [json];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === 'string') yield value;
    else if (isObject(value)) for (const child of Object.values(value)) stack.push(child);
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
