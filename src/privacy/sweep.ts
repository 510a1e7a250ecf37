import type { Context } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { isNoteStale, isOver, isPersonOver, mayBeInTool, mayBeRunning, needsNote } from './retention.ts';
import {
  clearPeople,
  clearTitles,
  clearToolTraces,
  dropEndNotes,
  forgottenOf,
  noteEnds,
  type PersonKey,
  pageContracts,
  pagePeople,
  rememberPeople,
  retainedContractsByKey,
  retainedContractsOf,
  retainedMembershipsOf,
} from './retention-store.ts';

/** Keeps a transaction well under 50 ms. */
const chunkSize = 100;

/**
 * Goes through all contracts and trainers, one chunk per step, and clears expired data. If an old delivery brings data
 * back, the next round clears it again. Contracts come first, so that their ends are noted.
 *
 * @returns the step, which returns whether there is more; after the last chunk it starts over
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
  const page = await pageContracts(ctx, after, chunkSize);
  if (page.length === 0) return null;
  await changeWhereNeeded(
    ctx,
    (tx) => planContracts(ctx, tx, page),
    async (tx, plan) => {
      await noteEnds(tx, plan.ended, toInstant(ctx.clock.now()));
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
  const page = await pagePeople(ctx, after, chunkSize);
  if (page.length === 0) return null;
  await changeWhereNeeded(
    ctx,
    (tx) => planPeople(ctx, tx, page),
    async (tx, plan) => {
      await rememberPeople(tx, plan.remembered);
      await clearPeople(tx, plan.over);
      await clearToolTraces(tx, plan.membershipIds, false);
    },
  );
  return page.length < chunkSize ? null : (page.at(-1) ?? null);
}

async function planPeople(ctx: Context, tx: Transaction, page: PersonKey[]) {
  const trainerIds = [...new Set(page.map(({ trainerId }) => trainerId))];
  const contracts = await retainedContractsOf(tx, trainerIds);
  const memberships = await retainedMembershipsOf(tx, trainerIds);
  const forgotten = await forgottenOf(tx, trainerIds);

  // Each install is judged by itself: the contracts of one do not make another keep a trainer.
  const inTools = new Set(memberships.filter(mayBeInTool).map(keyOf));
  const running = new Set(contracts.filter(mayBeRunning).map(keyOf));
  const isForgotten = new Set(forgotten.map(keyOf));
  const before = instantIn(ctx.clock, -ctx.config.retention.peopleMs);
  const isDue = (person: PersonKey) => {
    const key = keyOf(person);
    if (inTools.has(key)) return false;
    if (isForgotten.has(key)) return !running.has(key);
    const theirs = contracts.filter((one) => keyOf(one) === key);
    return isPersonOver(theirs, before);
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

/** Plans without a lock first, because there is rarely anything to write, and plans again under the lock. */
async function changeWhereNeeded<Plan extends Record<string, readonly unknown[]>>(
  ctx: Context,
  plan: (tx: Transaction) => Promise<Plan>,
  write: (tx: Transaction, plan: Plan) => Promise<void>,
): Promise<void> {
  const unlocked = await plan(ctx.database.kysely);
  if (Object.values(unlocked).every((rows) => rows.length === 0)) return;
  await inTransaction(ctx.database, async (tx) => {
    // The evidence must not change between the decision and the write.
    await lockEvidence(ctx, tx);
    await write(tx, await plan(tx));
  });
}
