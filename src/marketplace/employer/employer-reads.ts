import { AppError } from '../../domain/errors.ts';
import type { AddressMissing } from '../../domain/evidence.ts';
import type { Client } from '../client.ts';
import { isGranted } from '../contract/account.ts';
import { contracts } from '../contract/contracts.ts';
import { messaging } from '../contract/messages.ts';
import { Contract } from '../contract/platform.ts';
import { pageOf } from '../contract/shapes.ts';
import type { Listing } from '../read-pages.ts';
import type { Budget, ContractFilter, ContractPage, Link, Participant, UnreadLink } from '../source.ts';

/** Refusals that concern one job: it belongs to another account, or does not exist. */
const refusalsOfJob: ReadonlySet<AppError['code']> = new Set(['forbidden', 'not_found']);

/**
 * The contracts on the linked jobs (spec: part A section 4.6), job by job, so that a refused job leaves only its own
 * contracts unread.
 */
export async function listContracts(
  client: Client,
  allLinks: readonly Link[],
  { projectLinkId, ...listed }: ContractFilter,
  signal: AbortSignal,
): Promise<ContractPage> {
  const links = allLinks.filter(({ jobId }) => typeof jobId === 'string');
  const asked = projectLinkId === undefined ? links : links.filter(({ id }) => id === projectLinkId);
  const linksOfJob = Map.groupBy(links, ({ jobId }) => jobId);
  const listings: (Listing<Contract> & { jobId: string })[] = [];
  const unreadLinks: UnreadLink[] = [];
  for (const [jobId, ofJob] of Map.groupBy(asked, (link) => link.jobId as string)) {
    const listing = await listOfJob(client, jobId, listed, signal);
    if (!(listing instanceof AppError)) listings.push({ ...listing, jobId });
    else unreadLinks.push(...ofJob.map(({ id: linkId }) => ({ linkId, jobId, refusal: listing })));
  }
  // If every job is refused, the account itself is.
  const [unread] = unreadLinks;
  if (unread !== undefined && listings.length === 0) throw unread.refusal;
  const contracts = new Map<string, Contract>();
  for (const { jobId, records } of listings) {
    for (const contract of records) {
      // Even if the marketplace ignores the filter, people of another job must not get into this job's project.
      const onLinks = linksOfJob.get(contract.jobId ?? jobId) ?? [];
      contracts.set(contract.id, { ...contract, projectLinkIds: onLinks.map(({ id }) => id) });
    }
  }
  return { contracts: [...contracts.values()], isComplete: listings.every((one) => one.isComplete), unreadLinks };
}

/** Only the fields of the port are read, because there may be many contracts. */
const contractList = { ...contracts.list, out: pageOf('contracts', Contract) };

/** @returns a refusal that concerns only this job, instead of throwing it */
async function listOfJob(
  { pages }: Client,
  jobId: string,
  { status, wantsMore, keep }: Omit<ContractFilter, 'projectLinkId'>,
  signal: AbortSignal,
): Promise<Listing<Contract> | AppError> {
  const operation = { ...contractList, purpose: `list the contracts of the job ${jobId}` };
  try {
    return await pages(operation, { jobId, status }, signal, { wantsMore, keep });
  } catch (error) {
    if (error instanceof AppError && refusalsOfJob.has(error.code)) return error;
    throw error;
  }
}

/** A contract in full. The errors say what it is read for. */
async function readContract({ call }: Client, contractId: string, purpose: string, signal: AbortSignal) {
  const isAbout = ({ contract }: { contract: { id: string } }) => contract.id === contractId;
  return (await call({ ...contracts.get, purpose }, { contractId }, signal, { isAbout })).contract;
}

export async function readBudget(client: Client, contractId: string, signal: AbortSignal): Promise<Budget> {
  const purpose = 'read the budget of a contract';
  const { budget } = await readContract(client, contractId, purpose, signal);
  if (budget?.contractId === contractId) return budget;
  throw new AppError('invalid', `Could not ${purpose}: the answer has no budget of this contract`);
}

/** @param granted the scopes of the token; undefined before they are known */
export async function listParticipants(
  client: Client,
  contractId: string,
  granted: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Participant[]> {
  const contract = await readContract(client, contractId, 'read who is on a contract', signal);
  if (contract.freelancer === undefined) return [];
  const { userId: opentrainUserId, displayName } = contract.freelancer;
  return [{ opentrainUserId, displayName, ...(await findWorkEmail(client, contract, granted, signal)) }];
}

type WorkEmail = Pick<Participant, 'workEmail' | 'addressMissing'>;

const scopesOfAddress = ['messages:read', 'participant_work_email:read'];

/** Any other failure fails the whole reading. */
const reasonOfRefusal: ReadonlyMap<AppError['code'], AddressMissing> = new Map([
  // The token has the scopes, so the account is unclaimed, or has no messages.
  ['forbidden', 'refused'],
  ['not_found', 'no_conversation'],
]);

/**
 * Only the conversation that began with the hire has the work email (spec: part B section 4.2). Without it, the trainer
 * waits, and the reason tells the operator what to do.
 */
async function findWorkEmail(
  { call }: Client,
  { id: contractId, jobDmConversationId: conversationId }: { id: string; jobDmConversationId: string | null },
  granted: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<WorkEmail> {
  if (!scopesOfAddress.every((scope) => isGranted(granted ?? scopesOfAddress, scope))) return missing('no_scope');
  if (conversationId === null) return missing('no_conversation');
  try {
    const input = { conversationId, contractId, includeWorkEmail: true };
    const { membership, member } = await call(messaging.member, input, signal);
    // A record, or the text `none`.
    const found = typeof membership === 'object' ? membership.workEmail : null;
    const workEmail = found ?? member?.workEmail ?? null;
    return workEmail === null ? missing('not_shared') : { workEmail };
  } catch (error) {
    const reason = error instanceof AppError ? reasonOfRefusal.get(error.code) : undefined;
    if (reason === undefined) throw error;
    return missing(reason);
  }
}

function missing(addressMissing: AddressMissing): WorkEmail {
  return { workEmail: null, addressMissing };
}
