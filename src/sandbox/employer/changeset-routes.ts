import { changesets } from '../../marketplace/contract/changesets.ts';
import type { AccountCall, Route } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import { toPage } from '../public-shapes.ts';
import type { Changeset } from './account.ts';
import { type Plan, planChanges } from './changeset-rules.ts';
import { addRevision, pagesOf, summarize } from './manual-rules.ts';
import { inWorkspace, ofChangeset } from './workspace.ts';

/** Changesets are checked, applied or reviewed (spec: part B sections 3 and 4.1). */
export const changesetRoutes: readonly Route[] = [
  inWorkspace(changesets.validate, (call) => {
    const { conflicts } = plan(call, call.input);
    return { valid: conflicts.length === 0, conflicts };
  }),
  inWorkspace(changesets.diff, (call) => {
    const planned = plan(call, call.input);
    return { pages: toSummary(planned), conflicts: planned.conflicts };
  }),
  inWorkspace(changesets.apply, (call) => apply(call, call.input)),
  inWorkspace(changesets.submit, ({ marketplace, account, input }) => {
    const createdAt = marketplace.now();
    const kept = { ...input, description: input.description ?? null, decisionNote: null, createdAt, conflicts: [] };
    const changeset: Changeset = { id: marketplace.ids.next('chs'), status: 'SUBMITTED', ...kept };
    account.changesets.push(changeset);
    return { changeset: { ...changeset } };
  }),
  inWorkspace(changesets.list, ({ account, input: { workspaceId, status, ...paging } }) => {
    const own = account.changesets.filter((one) => one.workspaceId === workspaceId);
    const found = own.filter((one) => status === undefined || one.status === status);
    return toPage('changesets', found.reverse(), paging);
  }),
  ofChangeset(changesets.get, (_call, changeset) => ({ changeset })),
  ofChangeset(changesets.approve, ({ input }, changeset) => ({
    changeset: advance(changeset, 'APPROVED', { decisionNote: input.decisionNote ?? null }),
  })),
  ofChangeset(changesets.reject, ({ input }, changeset) => ({
    changeset: advance(changeset, 'REJECTED', { decisionNote: input.decisionNote ?? null }),
  })),
  ofChangeset(changesets.applyStored, (call, changeset) => {
    const { conflicts } = plan(call, changeset);
    advance(changeset, conflicts.length === 0 ? 'APPLIED' : 'CONFLICTED', { conflicts });
    return { ...apply(call, changeset), changeset };
  }),
];

type Changes = Pick<Changeset, 'workspaceId' | 'operations'> & { description?: string | null | undefined };

function plan(
  { account }: AccountCall,
  { workspaceId, operations }: Changes,
  nextId = (reference: string) => reference,
) {
  const manuals = account.manuals.filter((manual) => manual.workspaceId === workspaceId);
  return planChanges(manuals, operations, account.readyAssets, nextId);
}

/** All operations or none. @throws Refusal with the conflicts */
function apply(call: AccountCall, changes: Changes) {
  const planned = plan(call, changes, () => call.marketplace.ids.next('pg'));
  const { conflicts } = planned;
  const [first] = conflicts;
  if (first !== undefined) throw new Refusal('conflict', String(first.message), { reason: first.code, conflicts });
  const pages = toSummary(planned);
  for (const [manual, after] of planned.pages) {
    const isChanged = after.some((page) => !pagesOf(manual).includes(page));
    if (isChanged) addRevision(call.marketplace, manual, after, changes.description);
  }
  return { pages, conflicts };
}

/** New pages have the key that they were created with. */
function toSummary({ pages, created }: Plan) {
  const keys = new Map([...created].map(([reference, id]) => [id, reference.replace('new:', '')]));
  return [...pages].flatMap(([manual, after]) =>
    summarize(pagesOf(manual), after).map((page) => ({
      ...page,
      manualId: manual.id,
      ...(keys.has(page.pageId) && { clientPageKey: keys.get(page.pageId) }),
    })),
  );
}

const statusesBefore = {
  APPROVED: ['SUBMITTED'],
  REJECTED: ['SUBMITTED', 'APPROVED'],
  APPLIED: ['APPROVED'],
  CONFLICTED: ['APPROVED'],
};

function advance(changeset: Changeset, status: keyof typeof statusesBefore, facts: Partial<Changeset>): Changeset {
  const { id: changesetId, status: before } = changeset;
  if (statusesBefore[status].includes(before)) return Object.assign(changeset, facts, { status });
  throw new Refusal('conflict', `A changeset that is ${before} does not become ${status}`, {
    changesetId,
    status: before,
  });
}
