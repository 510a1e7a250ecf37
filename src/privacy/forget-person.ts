import { setTimeout as wait } from 'node:timers/promises';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { workEmailPlace } from '../engine/evidence-store.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { maskEmail } from '../lib/mask.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { type Names, namesPerson } from './names-person.ts';
import type { PersonStore } from './person-store.ts';
import { isRunning } from './retention.ts';
import type { RetentionStore } from './retention-store.ts';
import { clearWorkTraces, countWorkTraces } from './work-trace-store.ts';

export interface ForgetDeps {
  database: Database;
  box: SecretBox;
  inbox: InboxStore;
  people: PersonStore;
  retention: RetentionStore;
  /** As `EvidenceStore.lock`: what is decided must not change before it is written. */
  lockEvidence(tx: Transaction): Promise<void>;
  clock: Clock;
  signal: AbortSignal;
}

/** What was cleared; or would be. */
export interface Forgotten {
  trainerId: string;
  /** Installs in which a name or address was known. */
  people: number;
  /** Titles of their contracts. */
  titles: number;
  /** Stored requests that named them. */
  deliveries: number;
  /** Memberships, receipts and invitations with what a tool has said of them, or given them. */
  toolTraces: number;
  /** Requests that name them and are not handled yet: they stay. */
  deliveriesLeft: number;
}

/** Bodies are opened one after the other; between two pages others have the thread. */
const pageSize = 100;
const restMs = 5;

/**
 * Clears everything personal of one person at once, whatever the retention. The ids stay, and a
 * note that keeps what an old delivery brings back from being kept, until they are hired again.
 *
 * @param who a trainer id, or a work address
 * @throws AppError `not_found`, or `conflict` while they have a contract or are in a tool
 */
export async function forgetPerson(
  deps: ForgetDeps,
  who: string,
  { dryRun }: { dryRun: boolean },
): Promise<Forgotten> {
  const { database, people, retention } = deps;
  const trainerId = await findTrainer(deps, who);
  const names = await collectNames(deps, trainerId);
  await refuseWhileNeeded(deps, database.kysely, trainerId);
  // First, and each chunk for good: by the addresses that are cleared last they are found again.
  const deliveries = await clearDeliveries(deps, names, dryRun);

  const cleared = await inTransaction(database, async (tx) => {
    await deps.lockEvidence(tx);
    await refuseWhileNeeded(deps, tx, trainerId);
    const known = (await people.peopleOf(tx, trainerId)).filter(
      ({ displayName, workEmail }) => displayName !== null || workEmail !== null,
    );
    const titled = (await retention.contractsOf(tx, [trainerId])).filter(
      ({ title }) => title !== null,
    );
    const ofWork = await countWorkTraces(tx, trainerId);
    const toolTraces = ofWork + (await people.countToolTraces(tx, trainerId));
    if (!dryRun) {
      await retention.clearPeople(tx, known);
      await retention.clearTitles(tx, titled);
      await clearWorkTraces(tx, trainerId);
      await people.clearToolTraces(tx, trainerId);
      await retention.clearInvitations(tx, [trainerId]);
      await retention.forget(tx, trainerId, toInstant(deps.clock.now()));
    }
    return { people: known.length, titles: titled.length, toolTraces };
  });
  return { trainerId, ...cleared, ...deliveries };
}

async function findTrainer({ people, box }: ForgetDeps, who: string): Promise<string> {
  if (await people.isKnown(who)) return who;
  if (!who.includes('@')) throw new AppError('not_found', `There is no trainer ${who}`);
  const [trainerId, ...others] = await people.findByDigest(box.digests(who.trim().toLowerCase()));
  if (trainerId === undefined) {
    throw new AppError('not_found', `Nobody is known by the address ${maskEmail(who)}`);
  }
  if (others.length === 0) return trainerId;
  const ids = [trainerId, ...others].join(', ');
  throw new AppError('conflict', `Several trainers have that address: name one by id (${ids})`);
}

async function collectNames(deps: ForgetDeps, trainerId: string): Promise<Names> {
  const { database, box, people, retention } = deps;
  const known = await people.peopleOf(database.kysely, trainerId);
  const contracts = await retention.contractsOf(database.kysely, [trainerId]);
  const addresses = known.flatMap(({ install, workEmail }) =>
    workEmail === null
      ? []
      : [box.open(workEmail, workEmailPlace({ install, trainerId })).toString('utf8')],
  );
  return {
    trainerId,
    addresses: new Set(addresses.map((address) => address.toLowerCase())),
    contractIds: new Set(contracts.map(({ contractId }) => contractId)),
  };
}

async function refuseWhileNeeded(
  { retention }: ForgetDeps,
  tx: Transaction,
  trainerId: string,
): Promise<void> {
  const running = (await retention.contractsOf(tx, [trainerId])).find(isRunning);
  if (running !== undefined) {
    const { install, contractId } = running;
    throw new AppError(
      'conflict',
      `The trainer ${trainerId} has an active contract (${contractId}, install ${install}): end it first`,
    );
  }
  const memberships = await retention.membershipsOf(tx, [trainerId]);
  const held = memberships.find(
    ({ wanted, state }) => wanted === 1 || (state !== 'removed' && state !== 'released'),
  );
  if (held === undefined) return;
  const { tool, groupId, state } = held;
  throw new AppError(
    'conflict',
    `The trainer ${trainerId} may still be in ${groupId} of ${tool} (${state}): their address is needed to take them out; try again when "gangway members" shows them as removed`,
  );
}

/** A page at a time, so that no transaction is long; those not handled yet are left and counted. */
async function clearDeliveries({ inbox, signal }: ForgetDeps, names: Names, dryRun: boolean) {
  let [deliveries, deliveriesLeft] = [0, 0];
  for (let lastId = 0; ; ) {
    const page = await inbox.page(lastId, pageSize);
    const theirs = page.filter((delivery) => isAbout(inbox, delivery, names));
    const settled = theirs.filter(({ nextAttemptAt }) => nextAttemptAt === null);
    const removed = dryRun ? settled.length : await inbox.remove(settled.map(({ id }) => id));
    deliveries += removed;
    deliveriesLeft += theirs.length - removed;
    if (page.length < pageSize) return { deliveries, deliveriesLeft };
    lastId = page.at(-1)?.id ?? 0;
    await wait(restMs, undefined, { signal });
  }
}

/** What does not open tells nobody anything about anyone. */
function isAbout(
  inbox: InboxStore,
  delivery: Parameters<InboxStore['openBody']>[0],
  names: Names,
): boolean {
  try {
    return namesPerson(inbox.openBody(delivery), names);
  } catch {
    return false;
  }
}
