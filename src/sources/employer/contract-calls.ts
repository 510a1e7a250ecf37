import { AppError } from '../../domain/errors.ts';
import type { AddressMissing } from '../../domain/evidence.ts';
import { type Call, pathOf } from '../http/caller.ts';
import { type Listing, readPages } from '../http/read-pages.ts';
import {
  type Budget,
  type Contract,
  type ContractFilter,
  type ContractPage,
  isGranted,
  type Link,
  type Participant,
  type UnreadLink,
} from '../source.ts';
import {
  BudgetAnswer,
  ContractList,
  MemberAnswer,
  PeopleAnswer,
  type WithBudget,
  type WithPeople,
} from './employer-schema.ts';

/** Refusals that concern one job only: it belongs to another account, or does not exist. */
const refusalsOfJob: ReadonlySet<AppError['code']> = new Set(['forbidden', 'not_found']);

/**
 * The contracts on the linked jobs (spec: part A section 4.6). They are listed job by job, so that one job that is
 * refused leaves only its own contracts unread.
 */
export async function listContracts(
  call: Call,
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
    const listing = await listOfJob(call, jobId, listed, signal);
    if (!(listing instanceof AppError)) listings.push({ ...listing, jobId });
    else unreadLinks.push(...ofJob.map(({ id: linkId }) => ({ linkId, jobId, refusal: listing })));
  }
  // If every job is refused, the account is, and nothing was read.
  const [unread] = unreadLinks;
  if (unread !== undefined && listings.length === 0) throw unread.refusal;
  const contracts = new Map<string, Contract>();
  for (const { jobId, records } of listings) {
    for (const contract of records) {
      // Should the marketplace ignore the filter, people of another job must not get into this one's project.
      const onLinks = linksOfJob.get(contract.jobId ?? jobId) ?? [];
      contracts.set(contract.id, { ...contract, projectLinkIds: onLinks.map(({ id }) => id) });
    }
  }
  return { contracts: [...contracts.values()], isComplete: listings.every((one) => one.isComplete), unreadLinks };
}

/** @returns the refusal, if it concerns this job only */
async function listOfJob(
  call: Call,
  jobId: string,
  { status, wantsMore, keep = (all) => all }: Omit<ContractFilter, 'projectLinkId'>,
  signal: AbortSignal,
): Promise<Listing<Contract> | AppError> {
  const operation = { path: '/contracts', purpose: `list the contracts of the job ${jobId}`, answer: ContractList };
  try {
    return await readPages(
      async (cursor) => {
        const page = await call({ ...operation, query: { jobId, status, cursor }, signal });
        return { ...page, records: page.records.map(keep) };
      },
      { keyOf: ({ id }) => id, wantsMore },
    );
  } catch (error) {
    if (error instanceof AppError && refusalsOfJob.has(error.code)) return error;
    throw error;
  }
}

export async function readBudget(call: Call, contractId: string, signal: AbortSignal): Promise<Budget> {
  const isAbout = ({ id, budget }: WithBudget) => id === contractId && budget.contractId === contractId;
  const operation = { path: pathOf`/contracts/${contractId}`, purpose: 'read the budget of a contract' };
  return (await call({ ...operation, answer: BudgetAnswer, isAbout, signal })).budget;
}

/** @param granted the scopes of the token; undefined before they are known */
export async function listParticipants(
  call: Call,
  contractId: string,
  granted: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Participant[]> {
  const isAbout = ({ id }: WithPeople) => id === contractId;
  const operation = { path: pathOf`/contracts/${contractId}`, purpose: 'read who is on a contract' };
  const contract = await call({ ...operation, answer: PeopleAnswer, isAbout, signal });
  if (contract.freelancer === undefined) return [];
  const { userId: opentrainUserId, displayName } = contract.freelancer;
  return [{ opentrainUserId, displayName, ...(await findWorkEmail(call, contract, granted, signal)) }];
}

type WorkEmail = Pick<Participant, 'workEmail' | 'addressMissing'>;

const scopesOfAddress = ['messages:read', 'participant_work_email:read'];

/** What a refusal means. Any other failure fails the whole reading. */
const reasons: ReadonlyMap<AppError['code'], AddressMissing> = new Map([
  // The scopes were checked before, so the account is not claimed, or has no messages.
  ['forbidden', 'refused'],
  ['not_found', 'no_conversation'],
]);

/**
 * The work email is in the conversation that began with the hire, and nowhere else (spec: part B section 4.2).
 * Without it, the trainer waits: the reason says what an operator can do.
 */
async function findWorkEmail(
  call: Call,
  { id: contractId, jobDmConversationId: conversationId }: WithPeople,
  granted: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<WorkEmail> {
  if (!scopesOfAddress.every((scope) => isGranted(granted ?? scopesOfAddress, scope))) return missing('no_scope');
  if (conversationId === null) return missing('no_conversation');
  const path = '/messaging/management/messaging_management.members.get';
  const query = { conversationId, contractId, includeWorkEmail: 'true' };
  const purpose = 'read the work address of a trainer';
  try {
    const workEmail = await call({ path, query, purpose, answer: MemberAnswer, signal });
    return workEmail === null ? missing('not_shared') : { workEmail };
  } catch (error) {
    const reason = error instanceof AppError ? reasons.get(error.code) : undefined;
    if (reason === undefined) throw error;
    return missing(reason);
  }
}

function missing(addressMissing: AddressMissing): WorkEmail {
  return { workEmail: null, addressMissing };
}
