import type { Context } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { isNoteStale, isOver, isPersonOver, mayBeInTool, mayBeRunning, needsNote } from './retention.ts';
import {
  clearInvitations,
  clearMessages,
  clearPeople,
  clearTitles,
  dropEndNotes,
  forgottenOf,
  noteEnds,
  type PersonKey,
  pageRetainedContracts,
  pageRetainedPeople,
  rememberPeople,
  retainedContractsByKey,
  retainedContractsOf,
  retainedMembershipsOf,
} from './retention-store.ts';

/** So few that a transaction stays well under 50 ms. */
const chunkSize = 100;

/**
 * Goes through all contracts and trainers, one chunk per step, and clears what is over. Level-triggered: what an old delivery brings back after it was cleared is cleared by the next round, as long as the
 * contract is over. Contracts come first, so that their ends are noted.
 *
 * @returns the step; it returns whether there is more; otherwise the next step begins again
 */
export function createSweep(ctx: Context): () => Promise<boolean> {
  let contract: ContractKey | null = null;
  let person: PersonKey | null = null;
  let phase: 'contracts' | 'people' = 'contracts';
  return async () => {
    if (phase === 'contracts') {
      contract = await sweepContracts(ctx, contract);
      if (contract === null) phase = 'people';
      return true;
    }
    person = await sweepPeople(ctx, person);
    if (person !== null) return true;
    phase = 'contracts';
    return false;
  };
}

/** @returns where to go on; null at the end */
async function sweepContracts(ctx: Context, after: ContractKey | null): Promise<ContractKey | null> {
  const { clock } = ctx;
  const page = await pageRetainedContracts(ctx, after, chunkSize);
  await changeWhereNeeded(
    ctx,
    (tx) => planContracts(ctx, tx, page),
    async (tx, plan) => {
      await noteEnds(tx, plan.ended, toInstant(clock.now()));
      await dropEndNotes(tx, plan.resumed);
      await clearTitles(tx, plan.over);
    },
  );
  return page.length < chunkSize ? null : (page.at(-1) ?? null);
}

async function planContracts(ctx: Context, tx: Transaction, page: ContractKey[]) {
  const contracts = await retainedContractsByKey(tx, page);
  const before = instantIn(ctx.clock, -ctx.config.retention.peopleMs);
  return {
    ended: contracts.filter(needsNote),
    resumed: contracts.filter(isNoteStale),
    over: contracts.filter((one) => one.title !== null && isOver(one, before)),
  };
}

async function sweepPeople(ctx: Context, after: PersonKey | null): Promise<PersonKey | null> {
  const page = await pageRetainedPeople(ctx, after, chunkSize);
  await changeWhereNeeded(
    ctx,
    (tx) => planPeople(ctx, tx, page),
    async (tx, plan) => {
      await rememberPeople(tx, plan.remembered);
      await clearPeople(tx, plan.over);
      await clearMessages(tx, plan.membershipIds);
      await clearInvitations(tx, plan.membershipIds);
    },
  );
  return page.length < chunkSize ? null : (page.at(-1) ?? null);
}

async function planPeople(ctx: Context, tx: Transaction, page: PersonKey[]) {
  const trainerIds = trainersOf(page);
  const contracts = await retainedContractsOf(tx, trainerIds);
  const memberships = await retainedMembershipsOf(tx, trainerIds);
  const forgotten = await forgottenOf(tx, trainerIds);

  // Each install is judged by itself: one install's word does not make others keep a trainer.
  const inTools = new Set(memberships.filter(mayBeInTool).map(keyOf));
  const running = new Set(contracts.filter(mayBeRunning).map(keyOf));
  const isForgotten = new Set(forgotten.map(keyOf));
  const before = instantIn(ctx.clock, -ctx.config.retention.peopleMs);
  const isDue = (person: PersonKey) => {
    const key = keyOf(person);
    if (inTools.has(key)) return false;
    if (isForgotten.has(key)) return !running.has(key);
    return isPersonOver(
      contracts.filter((one) => keyOf(one) === key),
      before,
    );
  };
  const over = page.filter(isDue);
  const isOverFor = new Set(over.map(keyOf));
  const theirs = memberships.filter((row) => isOverFor.has(keyOf(row)));
  return {
    over,
    membershipIds: theirs.map(({ id }) => id),
    remembered: forgotten.filter((person) => running.has(keyOf(person))),
  };
}

function keyOf({ install, trainerId }: PersonKey): string {
  return JSON.stringify([install, trainerId]);
}

function trainersOf(people: readonly PersonKey[]): string[] {
  return [...new Set(people.map(({ trainerId }) => trainerId))];
}

/**
 * Looks without a lock first, because mostly there is nothing to write. What has to be written is decided again under
 * the lock.
 */
async function changeWhereNeeded<Plan extends Record<string, readonly unknown[]>>(
  ctx: Context,
  plan: (tx: Transaction) => Promise<Plan>,
  write: (tx: Transaction, plan: Plan) => Promise<void>,
): Promise<void> {
  const glance = await plan(ctx.database.kysely);
  if (Object.values(glance).every((rows) => rows.length === 0)) return;
  await inTransaction(ctx.database, async (tx) => {
    // The evidence must not change between the decision and the write.
    await lockEvidence(ctx, tx);
    await write(tx, await plan(tx));
  });
}
