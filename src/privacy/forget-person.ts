import { setTimeout as wait } from 'node:timers/promises';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, rollingBack, type Transaction } from '../db/database.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import { openBody, type PagedDelivery, pageDeliveries, removeDeliveries } from '../inbox/inbox-store.ts';
import type { Storage } from '../keys/storage.ts';
import { maskEmail } from '../lib/mask.ts';
import { stripBom } from '../lib/text.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { clearFindingTraces } from '../reconcile/drift/finding-store.ts';
import { clearWorkTraces } from '../usage/read/work-store.ts';
import { type ForgetPlan, type Need, type PersonOnRecord, planForget } from './retention.ts';
import {
  clearInvitations,
  clearPeople,
  clearTitles,
  clearToolTraces,
  findPeopleByDigest,
  forgetPeople,
  forgottenOf,
  installsOfPerson,
  isPersonKnown,
  peopleOf,
  retainedContractsOf,
  retainedMembershipsOf,
  retainedReasonsOf,
} from './retention-store.ts';

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
  ctx: Storage,
  who: string,
  { dryRun, by, install }: ForgetWish,
  signal: AbortSignal,
): Promise<Forgotten> {
  const { database } = ctx;
  const trainerId = await findTrainer(ctx, who, install);
  const foreseen = planForget(await loadPerson(database.kysely, trainerId), install);
  // Deliveries are cleared first, chunk by chunk. After a crash they are found again by the addresses, which are cleared
  // last.
  const scope = await collectNames(ctx, trainerId, { install, ...foreseen });
  const deliveries = await clearDeliveries(ctx, scope, dryRun, signal);

  const { plan, ...counts } = await (dryRun ? rollingBack : inTransaction)(database, async (tx) => {
    // The evidence must not change between the decision and the write.
    await lockEvidence(ctx, tx);
    const known = await loadPerson(tx, trainerId);
    // A trainer who was hired meanwhile must not be half forgotten.
    for (const one of foreseen.cleared) planForget(known, one);
    const plan = planForget(known, install);
    await writeAudit(tx, by, 'forget', `trainer ${trainerId} at ${plan.cleared.join(', ')}`);
    return { plan, ...(await clearKnown(tx, known, plan, by.at)) };
  });
  return { trainerId, installs: plan.cleared, neededBy: plan.neededBy, ...counts, ...deliveries };
}

async function clearKnown(
  tx: Transaction,
  { trainerId, contracts }: PersonOnRecord,
  { cleared, membershipIds, keptMembershipIds }: ForgetPlan,
  at: string,
): Promise<Pick<Forgotten, 'people' | 'titles' | 'toolTraces'>> {
  const isCleared = ({ install }: { install: string }) => cleared.includes(install);
  const named = (await peopleOf(tx, trainerId)).filter(
    (person) => isCleared(person) && (person.displayName !== null || person.workEmail !== null),
  );
  const titled = contracts.filter((one) => isCleared(one) && one.title !== null);
  // The addresses are cleared after what is found by them.
  const listed = await clearFindingTraces(tx, trainerId, cleared);
  await clearPeople(tx, named);
  await clearTitles(tx, titled);
  const worked = await clearWorkTraces(tx, trainerId, keptMembershipIds);
  const told = await clearToolTraces(tx, membershipIds);
  const invited = await clearInvitations(tx, membershipIds);
  const forgotten = cleared.map((install) => ({ install, trainerId }));
  await forgetPeople(tx, forgotten, at);
  return { people: named.length, titles: titled.length, toolTraces: listed + worked + told + invited };
}

async function findTrainer(ctx: Storage, who: string, install: string | undefined): Promise<string> {
  if (await isPersonKnown(ctx, who)) return who;
  if (!who.includes('@')) throw new AppError('not_found', `There is no trainer ${who}`);
  const digest = ctx.box.digest(who.trim().toLowerCase());
  const [trainerId, ...others] = await findPeopleByDigest(ctx, digest, install);
  if (trainerId === undefined) {
    throw new AppError('not_found', `No person is known by the address ${maskEmail(who)}`);
  }
  if (others.length === 0) return trainerId;
  const ids = [trainerId, ...others].join(', ');
  throw new AppError('conflict', `Several trainers have that address: name one by id (${ids})`);
}

async function loadPerson(tx: Transaction, trainerId: string): Promise<PersonOnRecord> {
  const memberships = await retainedMembershipsOf(tx, [trainerId]);
  const ids = memberships.map(({ id }) => id);
  const forgotten = await forgottenOf(tx, [trainerId]);
  return {
    trainerId,
    memberships,
    installs: await installsOfPerson(tx, trainerId),
    forgottenBy: new Set(forgotten.map(({ install }) => install)),
    contracts: await retainedContractsOf(tx, [trainerId]),
    reasons: await retainedReasonsOf(tx, ids),
  };
}

/** What a delivery of an install may name the trainer by; undefined where its deliveries are kept. */
type NamesIn = (install: string) => Names | undefined;

/** For each install only its own addresses: an address that another install made up may belong to another person. */
async function collectNames(
  ctx: Storage,
  trainerId: string,
  { install: only, neededBy }: Pick<ForgetPlan, 'neededBy'> & Pick<ForgetWish, 'install'>,
): Promise<NamesIn> {
  const known = await peopleOf(ctx.database.kysely, trainerId);
  const contracts = await retainedContractsOf(ctx.database.kysely, [trainerId]);
  const kept = new Set(neededBy.map(({ install }) => install));
  return (install) => {
    if (only === undefined ? kept.has(install) : install !== only) return undefined;
    const sealed = known.find((person) => person.install === install)?.workEmail ?? null;
    const context = workEmailContext({ install, trainerId });
    const addresses = sealed === null ? [] : [ctx.box.open(sealed, context).toString('utf8')];
    const theirs = contracts.filter((contract) => contract.install === install);
    return {
      trainerId,
      addresses: new Set(addresses.map((address) => address.toLowerCase())),
      contractIds: new Set(theirs.map(({ contractId }) => contractId)),
    };
  };
}

/** Page by page, so that transactions stay short. Deliveries that are not handled yet are left and counted. */
async function clearDeliveries(ctx: Storage, namesIn: NamesIn, dryRun: boolean, signal: AbortSignal) {
  let [deliveries, deliveriesLeft] = [0, 0];
  const names = new Map<string, Names | undefined>();
  for (let lastId = 0; ; ) {
    const page = await pageDeliveries(ctx, lastId, pageSize);
    const theirs = page.filter((delivery) => {
      const { install } = delivery;
      if (!names.has(install)) names.set(install, namesIn(install));
      return isAbout(ctx, delivery, names.get(install));
    });
    const settled = theirs.filter(({ nextAttemptAt }) => nextAttemptAt === null);
    const removed = dryRun
      ? settled.length
      : await removeDeliveries(
          ctx,
          settled.map(({ id }) => id),
        );
    deliveries += removed;
    deliveriesLeft += theirs.length - removed;
    if (page.length < pageSize) return { deliveries, deliveriesLeft };
    lastId = page.at(-1)?.id ?? 0;
    await wait(restMs, undefined, { signal });
  }
}

/** A body that cannot be opened names no one. */
function isAbout(ctx: Storage, delivery: PagedDelivery, names: Names | undefined): boolean {
  if (names === undefined) return false;
  try {
    return namesPerson(openBody(ctx, delivery), names);
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
