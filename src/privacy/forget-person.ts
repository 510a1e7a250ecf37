import { setTimeout as wait } from 'node:timers/promises';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, rollingBack, type Transaction } from '../db/database.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import { openBody, type PagedDelivery, pageDeliveries } from '../inbox/inbox-store.ts';
import { removeDeliveries } from '../inbox/storage-store.ts';
import { maskEmail } from '../lib/mask.ts';
import { stripBom } from '../lib/text.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { clearFindingTraces } from '../reconcile/drift/finding-store.ts';
import { clearWorkTraces } from '../usage/read/work-store.ts';
import { type ForgetPlan, type PersonOnRecord, planForget } from './retention.ts';
import {
  clearPeople,
  clearTitles,
  clearToolTraces,
  findPeopleByDigest,
  forgetPeople,
  forgottenOf,
  installsOfPerson,
  peopleOf,
  reasonsOfPerson,
  retainedContractsOf,
  retainedMembershipsOf,
} from './retention-store.ts';

export interface ForgetOptions {
  dryRun: boolean;
  by: By;
  /** Only this install forgets the trainer; undefined for every install that can. */
  install?: string | undefined;
}

/** Deliveries to open before other work gets its turn on the thread. */
const pageSize = 100;
const restMs = 5;

/**
 * Clears all personal data of one trainer now, whatever the retention, in every install that no longer needs it. The
 * ids stay, with a note that clears whatever an old delivery brings back, until the trainer is hired there again.
 *
 * @param who a trainer id, or a work address
 * @returns the installs that have forgotten the trainer, or would; those that still need them; and how much was cleared.
 *   `deliveriesLeft` name the trainer and are kept, because they are not handled yet
 * @throws AppError `not_found`; `conflict` while every install has an active contract with the trainer, or has them in
 *   a tool
 */
export async function forgetPerson(
  ctx: Storage,
  who: string,
  { dryRun, by, install }: ForgetOptions,
  signal: AbortSignal,
) {
  const { database } = ctx;
  const trainerId = await findTrainer(ctx, who, install);
  const foreseen = planForget(await loadPerson(database.kysely, trainerId), install);
  // Deliveries go first, chunk by chunk: they are found by the addresses, also after a crash.
  const scope = await collectNames(ctx, trainerId, { install, ...foreseen });
  const deliveries = await clearDeliveries(ctx, scope, dryRun, signal);

  const { plan, ...counts } = await (dryRun ? rollingBack : inTransaction)(database, async (tx) => {
    await lockEvidence(ctx, tx);
    const known = await loadPerson(tx, trainerId);
    // Throws if an install whose deliveries were cleared has hired the trainer meanwhile.
    for (const one of foreseen.cleared) planForget(known, one);
    const plan = planForget(known, install);
    await writeAudit(tx, by, 'forget', `trainer ${trainerId} at ${plan.cleared.join(', ')}`);
    return { plan, ...(await clearPerson(tx, known, plan, by.at)) };
  });
  return { trainerId, installs: plan.cleared, neededBy: plan.neededBy, ...counts, ...deliveries };
}

async function clearPerson(
  tx: Transaction,
  { trainerId, contracts }: PersonOnRecord,
  { cleared, membershipIds, keptMembershipIds }: ForgetPlan,
  at: string,
) {
  const isCleared = ({ install }: { install: string }) => cleared.includes(install);
  const named = (await peopleOf(tx, trainerId)).filter(
    (person) => isCleared(person) && (person.displayName !== null || person.workEmail !== null),
  );
  const titled = contracts.filter((one) => isCleared(one) && one.title !== null);
  // Findings are found by the addresses.
  const listed = await clearFindingTraces(tx, trainerId, cleared);
  await clearPeople(tx, named);
  await clearTitles(tx, titled);
  const worked = await clearWorkTraces(tx, trainerId, keptMembershipIds);
  const told = await clearToolTraces(tx, membershipIds, true);
  const forgotten = cleared.map((install) => ({ install, trainerId }));
  await forgetPeople(tx, forgotten, at);
  return { people: named.length, titles: titled.length, toolTraces: listed + worked + told };
}

async function findTrainer(ctx: Storage, who: string, install: string | undefined): Promise<string> {
  if ((await installsOfPerson(ctx.database.kysely, who)).length > 0) return who;
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
  const forgotten = await forgottenOf(tx, [trainerId]);
  return {
    trainerId,
    memberships: await retainedMembershipsOf(tx, [trainerId]),
    installs: await installsOfPerson(tx, trainerId),
    forgottenBy: new Set(forgotten.map(({ install }) => install)),
    contracts: await retainedContractsOf(tx, [trainerId]),
    reasons: await reasonsOfPerson(tx, trainerId),
  };
}

/** What the deliveries of an install may call the trainer; undefined if they are kept. */
type NamesIn = (install: string) => Names | undefined;

/** Of each install only its own addresses: one that another install made up may belong to somebody else. */
async function collectNames(
  ctx: Storage,
  trainerId: string,
  { install: only, neededBy }: Pick<ForgetPlan, 'neededBy'> & Pick<ForgetOptions, 'install'>,
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

async function clearDeliveries(ctx: Storage, namesIn: NamesIn, dryRun: boolean, signal: AbortSignal) {
  let [deliveries, deliveriesLeft] = [0, 0];
  const names = new Map<string, Names | undefined>();
  for (let lastId = 0; ; ) {
    const page = await pageDeliveries(ctx, lastId, pageSize);
    for (const { install } of page) if (!names.has(install)) names.set(install, namesIn(install));
    const theirs = page.filter((delivery) => isAbout(ctx, delivery, names.get(delivery.install)));
    const settled = theirs.flatMap(({ id, nextAttemptAt }) => (nextAttemptAt === null ? [id] : []));
    const removed = dryRun ? settled.length : await removeDeliveries(ctx, settled);
    deliveries += removed;
    deliveriesLeft += theirs.length - removed;
    if (page.length < pageSize) return { deliveries, deliveriesLeft };
    lastId = page.at(-1)?.id ?? 0;
    await wait(restMs, undefined, { signal });
  }
}

/** A body that cannot be opened names nobody. */
function isAbout(ctx: Storage, delivery: PagedDelivery, names: Names | undefined): boolean {
  if (names === undefined) return false;
  try {
    return namesPerson(openBody(ctx, delivery), names);
  } catch {
    return false;
  }
}

interface Names {
  trainerId: string;
  /** In lower case. */
  addresses: ReadonlySet<string>;
  contractIds: ReadonlySet<string>;
}

/**
 * Whether a stored body is about a person: it has their id or address anywhere, or it is about one of their contracts
 * and gives its trainer no id. A body that is not JSON is searched as text.
 */
export function namesPerson(body: Uint8Array, names: Names): boolean {
  const text = stripBom(Buffer.from(body).toString('utf8'));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return isInText(text, names);
  }
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
  const freelancer = (json as { data?: { freelancer?: { opentrainUserId?: unknown } } | null } | null)?.data
    ?.freelancer;
  return isObject(freelancer) && typeof freelancer.opentrainUserId !== 'string';
}

/** Every string at any depth, without recursion, because a stranger's JSON may be nested very deep. */
function* stringsOf(json: unknown): Generator<string> {
  const stack = [json];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === 'string') yield value;
    else if (isObject(value)) for (const child of Object.values(value)) stack.push(child);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
