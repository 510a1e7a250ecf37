import type { Operation } from '../../marketplace/contract/operation.ts';
import { type CallOf, forAccount, type Route } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import type { SandboxAccount, Workspace } from './account.ts';
import { refuse } from './employer-route.ts';
import { pagesOf } from './manual-rules.ts';

/** What operations are about, and the role in its workspace that they need (spec: part B section 4.1). */
interface Subject {
  id: string;
  /** Its own id for a workspace. */
  workspaceId?: string;
}

/** @param field the id in the path, the query or the body */
function about<One extends Subject>(
  resource: string,
  field: string,
  list: (account: SandboxAccount) => readonly One[],
) {
  return <Asked extends Operation>(operation: Asked, run: (call: CallOf<Asked>, subject: One) => object): Route =>
    forAccount(operation, (call) => {
      const { [field]: wanted } = call.input as Record<string, unknown>;
      const subject = list(call.account).find(({ id }) => id === wanted);
      const role = subject && call.account.roles.get(subject.workspaceId ?? subject.id)?.get(call.account.ownerUserId);
      if (subject === undefined || role === undefined) return refuse(resource, { [field]: wanted });
      requireRole(operation, role);
      return run(call, subject);
    });
}

export const inWorkspace = about('workspaces', 'workspaceId', ({ workspaces }) => workspaces);
export const ofManual = about('manuals', 'manualId', ({ manuals }) => manuals);
export const ofPage = about('pages', 'pageId', ({ manuals }) =>
  manuals.flatMap((manual) => pagesOf(manual).map((page) => ({ ...page, workspaceId: manual.workspaceId }))),
);
export const ofChangeset = about('changesets', 'changesetId', ({ changesets }) => changesets);

function requireRole({ role: needed }: Operation, role: string): void {
  if (needed === undefined || needed === role || role === 'OWNER') return;
  throw new Refusal('forbidden', `The role ${needed} is needed in the workspace`, { requiredRole: needed, role });
}

/** The user of the account owns it. */
export function addWorkspace({ now }: Marketplace, account: SandboxAccount, id: string, name: string): Workspace {
  const workspace = { id, name, createdAt: now() };
  account.workspaces.push(workspace);
  account.roles.set(id, new Map([[account.ownerUserId, 'OWNER']]));
  return workspace;
}
