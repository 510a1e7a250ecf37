import { AppError } from '../../domain/errors.ts';
import type { AddressMissing } from '../../domain/evidence.ts';
import { type Call, type Listing, listWhole, pathOf, readPages } from '../http/caller.ts';
import type { Publication, PublishedPage } from '../record-schema.ts';
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
  Manifest,
  type ManifestPage,
  type Manual,
  ManualAnswer,
  ManualPage,
  MemberAnswer,
  PageAnswer,
  PeopleAnswer,
  PublicationPage,
  type WithBudget,
  type WithPeople,
  WorkspacePage,
} from './employer-schema.ts';

/** Refusals that concern one job: it belongs to another account, or does not exist. */
const refusalsOfJob: ReadonlySet<AppError['code']> = new Set(['forbidden', 'not_found']);

/**
 * The contracts on the linked jobs (spec: part A section 4.6), job by job, so that a refused job leaves only its own
 * contracts unread.
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

/** @returns a refusal that concerns only this job, instead of throwing it */
async function listOfJob(
  call: Call,
  jobId: string,
  { status, wantsMore, keep }: Omit<ContractFilter, 'projectLinkId'>,
  signal: AbortSignal,
): Promise<Listing<Contract> | AppError> {
  const operation = { path: '/contracts', purpose: `list the contracts of the job ${jobId}`, answer: ContractList };
  try {
    return await readPages((cursor) => call({ ...operation, query: { jobId, status, cursor }, signal }), {
      keyOf: ({ id }) => id,
      wantsMore,
      keep,
    });
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
    const reason = error instanceof AppError ? reasonOfRefusal.get(error.code) : undefined;
    if (reason === undefined) throw error;
    return missing(reason);
  }
}

function missing(addressMissing: AddressMissing): WorkEmail {
  return { workEmail: null, addressMissing };
}

const audience = 'WORKER';

/** What the manuals of these jobs have published for trainers (spec: part B section 4.1). */
export async function readPublications(
  call: Call,
  jobIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Publication>> {
  const read = new Map<string, Publication | null>();
  const found = new Map<string, Publication>();
  for (const [jobId, manualIds] of await manualsOfJobs(call, new Set(jobIds), signal)) {
    for (const manualId of manualIds) {
      if (!read.has(manualId)) read.set(manualId, await readPublication(call, manualId, signal));
      const publication = read.get(manualId) ?? null;
      if (publication === null) continue;
      found.set(jobId, publication);
      break;
    }
  }
  return found;
}

/** The manuals of each job, by precedence. */
async function manualsOfJobs(
  call: Call,
  jobIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const bound: { jobId: string; manualId: string; precedence: number }[] = [];
  for (const manual of await listManuals(call, signal)) {
    for (const { kind, targetId, precedence } of await bindingsOf(call, manual, signal)) {
      if (kind === 'JOB' && jobIds.has(targetId)) bound.push({ jobId: targetId, manualId: manual.id, precedence });
    }
  }
  bound.sort((one, other) => one.precedence - other.precedence || (one.manualId < other.manualId ? -1 : 1));
  const ofJobs = Map.groupBy(bound, ({ jobId }) => jobId);
  return new Map([...ofJobs].map(([jobId, all]) => [jobId, all.map(({ manualId }) => manualId)]));
}

async function bindingsOf(call: Call, { id, bindings }: Manual, signal: AbortSignal) {
  if (bindings !== undefined) return bindings;
  const manual = await call({ path: toManualPath(id), purpose: 'read a manual', answer: ManualAnswer, signal });
  return manual.bindings ?? [];
}

async function listManuals(call: Call, signal: AbortSignal): Promise<Manual[]> {
  const path = '/instructions/workspaces';
  const operation = { path, purpose: 'list the workspaces with manuals', answer: WorkspacePage, signal };
  const manuals: Manual[] = [];
  for (const { id } of await listWhole(call, operation, (workspace) => workspace.id)) {
    const ofWorkspace = { path: pathOf`/instructions/workspaces/${id}/manuals`, answer: ManualPage, signal };
    const purpose = 'list the manuals of a workspace';
    manuals.push(...(await listWhole(call, { ...ofWorkspace, purpose }, (manual) => manual.id)));
  }
  return manuals;
}

/**
 * The newest publication of a manual for trainers; null if there is none. Pages are requested by the revision in the
 * manifest, and an answer of another revision is refused, so that no draft gets out.
 */
async function readPublication(call: Call, manualId: string, signal: AbortSignal): Promise<Publication | null> {
  const path = `${toManualPath(manualId)}/publications`;
  const operation = { path, purpose: 'list the publications of a manual', answer: PublicationPage, signal };
  const publications = await listWhole(call, operation, ({ publicationNumber }) => String(publicationNumber));
  const ours = publications.filter(({ audiences }) => audiences.includes(audience));
  if (ours.length === 0) return null;
  const publicationNumber = Math.max(...ours.map((one) => one.publicationNumber));
  return { manualId, publicationNumber, pages: await readPublishedPages(call, manualId, publicationNumber, signal) };
}

async function readPublishedPages(
  call: Call,
  manualId: string,
  publicationNumber: number,
  signal: AbortSignal,
): Promise<PublishedPage[]> {
  const path = `${toManualPath(manualId)}/publications/${publicationNumber}/manifest`;
  const purpose = 'read the manifest of a publication';
  const manifest = await call({ path, query: { audience }, purpose, answer: Manifest, signal });
  if (manifest.publicationNumber !== publicationNumber)
    throw refusal(purpose, 'the answer is about another publication');
  const pages: PublishedPage[] = [];
  for (const { page, depth } of inOrder(manifest.pages.filter(isForTrainers))) {
    pages.push({ title: page.title ?? '', depth, content: await readContent(call, page, signal) });
  }
  return pages;
}

async function readContent(call: Call, manifestPage: ManifestPage, signal: AbortSignal): Promise<unknown> {
  const { pageId, revision, checksum } = manifestPage;
  const query = { revision: String(revision), format: 'json' };
  const purpose = 'read a page of a publication';
  const page = await call({ path: pathOf`/instructions/pages/${pageId}`, query, purpose, answer: PageAnswer, signal });
  const isRevision = page.revision === undefined || page.revision === revision;
  const isContent = page.checksum === null || checksum === null || page.checksum === checksum;
  const isProven = page.revision !== undefined || (page.checksum !== null && checksum !== null);
  if (page.id === pageId && isProven && isRevision && isContent) return page.content;
  throw refusal(purpose, 'the answer is not the published page');
}

function toManualPath(manualId: string): string {
  return pathOf`/instructions/manuals/${manualId}`;
}

function isForTrainers(page: ManifestPage): boolean {
  return page.audience === null || page.audience === audience;
}

/** Each page before the pages below it. If its parent is not for trainers, a page moves to the top. */
function inOrder(pages: readonly ManifestPage[]): { page: ManifestPage; depth: number }[] {
  const ids = new Set(pages.map(({ pageId }) => pageId));
  const children = Map.groupBy(
    [...pages].sort((one, other) => one.position - other.position),
    ({ parentId }) => (typeof parentId === 'string' && ids.has(parentId) ? parentId : null),
  );
  const ordered: { page: ManifestPage; depth: number }[] = [];
  function visit(parentId: string | null, depth: number): void {
    for (const page of children.get(parentId) ?? []) {
      ordered.push({ page, depth });
      visit(page.pageId, depth + 1);
    }
  }
  visit(null, 1);
  if (ordered.length === pages.length) return ordered;
  throw refusal('read the manifest of a publication', 'its pages form a circle');
}

function refusal(purpose: string, why: string): AppError {
  return new AppError('invalid', `Could not ${purpose}: ${why}`);
}
