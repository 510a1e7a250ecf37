import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Storage } from '../app/storage.ts';
import { AppError } from '../domain/errors.ts';
import type { MembershipState } from '../domain/membership.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { TriedAccount } from './try-account.ts';
import { demoProject } from './try-customer.ts';

export interface Tour {
  storage: Storage;
  rosterFile: string;
  say(line: string): void;
}

/**
 * Hires a trainer and ends the contract, and shows what happens after each.
 *
 * @throws AppError `internal` if one of the steps did not happen
 */
export async function takeTour(
  { storage, rosterFile, say }: Tour,
  { sandbox, jobId }: { sandbox: Sandbox; jobId: string },
): Promise<void> {
  const { contractId, trainers } = sandbox.hire({ jobId });
  say(`1. A trainer is hired: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
  say(`   delivery    ${await waitForDelivery(storage, 'contract.started')}`);
  say(`   membership  ${await waitForMember(storage, 'active')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  sandbox.endContract(contractId);
  say(`2. The contract ends: ${contractId}`);
  say(`   delivery    ${await waitForDelivery(storage, 'contract.ended')}`);
  say(`   membership  ${await waitForMember(storage, 'removed')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
}

/** The same for an employer's own account, where a person at the marketplace confirms the end. */
export async function takeTourOfAccount(
  { storage, rosterFile, say }: Tour,
  { sandbox, account }: { sandbox: Sandbox; account: TriedAccount },
): Promise<void> {
  const { contractId, trainers } = sandbox.hire({ jobId: account.jobId });
  say(`1. You hire a trainer: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
  say(`   feed        ${await waitForDelivery(storage, 'contract.created')}`);
  say(`   membership  ${await waitForMember(storage, 'active')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  const approvalId = await account.askForEnd(contractId);
  say(`2. You ask for the end of ${contractId}: the approval ${approvalId} waits for a person`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  sandbox.resolveApproval(approvalId, 'confirmed');
  say('3. A person confirms it at the marketplace');
  say(`   feed        ${await waitForDelivery(storage, 'approval.confirmed')}`);
  say(`   membership  ${await waitForMember(storage, 'removed')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
}

const patienceMs = 10_000;

async function waitForDelivery({ inbox }: Storage, type: string): Promise<string> {
  return await waitFor(`the delivery of ${type}`, async () => {
    const deliveries = await inbox.list({ limit: 10 });
    const { state } = deliveries.find((delivery) => delivery.eventType === type) ?? {};
    return state === 'handled' ? `${type} received, stored and ${state}` : undefined;
  });
}

async function waitForMember({ memberships }: Storage, state: MembershipState): Promise<string> {
  return await waitFor(`a membership that is ${state}`, async () => {
    const [member] = await memberships.list({ state, limit: 1 });
    if (member === undefined) return undefined;
    return `${member.displayName ?? member.trainerId} in ${member.groupId}: ${member.state}`;
  });
}

async function readGroup(rosterFile: string): Promise<string> {
  const { groups } = JSON.parse(await readFile(rosterFile, 'utf8')) as {
    groups: Record<string, unknown>;
  };
  return JSON.stringify(groups[demoProject]);
}

async function waitFor(what: string, look: () => Promise<string | undefined>): Promise<string> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await wait(25);
  }
  throw new AppError('internal', `The tour waited ${patienceMs / 1000} s in vain for ${what}`);
}
