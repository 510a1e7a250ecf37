import { randomBytes } from 'node:crypto';
import type { Adapter, UsageObservation } from '../../src/adapters/adapter.ts';
import { inTransaction } from '../../src/db/database.ts';
import { invitationContext } from '../../src/db/seal-contexts.ts';
import type { InvitationContent } from '../../src/domain/invitation.ts';
import type { MembershipState } from '../../src/domain/membership.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { wantRead } from '../../src/reconcile/read/install-state-store.ts';
import { wantScopes } from '../../src/usage/read/scope-store.ts';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';
import { collectWork } from '../support/read-work.ts';
import { until } from '../support/until.ts';

/** The marketplace and the bridge, on SQLite, with a real tool. */
export interface Loop {
  journey: Journey;
  /** Each by a contract of their own; resolves when the tool is in line with that. */
  hire<Names extends string[]>(...names: Names): Promise<{ [Index in keyof Names]: Hired }>;
  end(hired: Hired): Promise<void>;
}

/** A trainer that the marketplace has hired, as the operator of the bridge knows them. */
export interface Hired {
  trainerId: string;
  email: string;
  contractId: string;
  membership(): Promise<{ state: MembershipState; memberId: string | null }>;
  /** What the trainer logs in with, opened as a command of the operator would; null where there is nothing. */
  invitation(): Promise<InvitationContent | null>;
  /** `operation outcome` and what is said of it, oldest first. */
  receipts(): Promise<[string, string | null][]>;
}

/** A real tool on a busy machine. */
const patienceMs = 60_000;
const dayMs = 86_400_000;

/** @param project the tool's own id of the project that the customer's job is linked to */
export async function openLoop(adapter: Adapter, project: number): Promise<Loop> {
  const journey = await openJourney(sqlite, { adapter });
  const { sandbox, customer } = journey;
  await customer.link(String(project));
  // Tools outlive a test, and so do accounts.
  const run = randomBytes(4).toString('hex');

  return {
    journey,
    async hire<Names extends string[]>(...names: Names) {
      const hired = names.map((name) => {
        const trainer = { opentrainUserId: `usr-${name}-${run}` };
        const workEmail = `${name}.${run}@opentrain.work`;
        const trainers = [{ ...trainer, workEmail }];
        const { contractId } = sandbox.hire({ jobId: customer.jobId, trainers });
        return toHired(journey, trainer.opentrainUserId, workEmail, contractId);
      });
      await journey.quiet();
      return hired as { [Index in keyof Names]: Hired };
    },
    async end({ contractId }) {
      sandbox.endContract(contractId);
      await journey.quiet();
    },
  };
}

export function toHired(
  { storage }: Pick<Journey, 'storage'>,
  trainerId: string,
  email: string,
  contractId: string,
): Hired {
  const { kysely } = storage.database;
  return {
    trainerId,
    email,
    contractId,
    async membership() {
      const found = kysely.selectFrom('membership').select(['state', 'memberId']);
      return await found.where('trainerId', '=', trainerId).executeTakeFirstOrThrow();
    },
    async invitation() {
      const row = await kysely
        .selectFrom('invitation')
        .innerJoin('membership', 'membership.id', 'invitation.membershipId')
        .select(['membershipId', 'content'])
        .where('trainerId', '=', trainerId)
        .executeTakeFirst();
      if (row === undefined || row.content === null) return null;
      const opened = storage.box.open(row.content, invitationContext(row));
      return JSON.parse(opened.toString()) as InvitationContent;
    },
    async receipts() {
      const found = await kysely
        .selectFrom('receipt')
        .innerJoin('membership', 'membership.id', 'receipt.membershipId')
        .select(['operation', 'outcome', 'message'])
        .where('trainerId', '=', trainerId)
        .orderBy('receipt.id')
        .execute();
      return found.map(({ operation, outcome, message }) => [`${operation} ${outcome}`, message]);
    },
  };
}

/** A reading of everything that the tool tells of a project. */
export async function readUsage(adapter: Adapter, project: number): Promise<UsageObservation[]> {
  const link = { externalProjectId: String(project), externalProjectName: null };
  const scope = adapter.usageScopeFor?.(link) ?? '';
  const firstDay = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
  const request = { timeZone: 'UTC', firstDay, changedSince: null };
  const signal = AbortSignal.timeout(patienceMs);
  return (await collectWork(adapter.readUsage?.(scope, request, signal) ?? [])).work;
}

/** Has the marketplace read, and what the tool lists compared with what is known. */
export async function wantReading({ storage: { database }, clock }: Journey): Promise<void> {
  clock.advance(2 * 60_000);
  await inTransaction(database, (tx) => wantRead(tx, ['acme'], toInstant(clock.now())));
}

/** The work that counts for each trainer, once it was read after this. */
export async function readWork({ storage, clock }: Journey) {
  const { kysely } = storage.database;
  clock.advance(60_000);
  const now = toInstant(clock.now());
  const known = await kysely.selectFrom('usageScope').select(['tool', 'scope']).execute();
  const wanted = known.map((one) => ({ ...one, install: 'acme' }));
  await inTransaction(storage.database, (tx) => wantScopes(tx, wanted, now));
  const scopes = () => kysely.selectFrom('usageScope').select('readBeganAt').execute();
  await until('the work was read', scopes, (read) =>
    read.some(({ readBeganAt }) => readBeganAt !== null && readBeganAt >= now),
  );
  const days = kysely.selectFrom('usageDay').select(['trainerId', 'seconds', 'tasks', 'labels']);
  return await days.execute();
}
