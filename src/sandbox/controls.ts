import * as contracts from './contract-control.ts';
import * as wants from './control-request-schema.ts';
import { advance, idle } from './dispatcher.ts';
import * as accounts from './employer/account-control.ts';
import * as manuals from './employer/manual-control.ts';
import { setFaults } from './fault-control.ts';
import * as installs from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { parseRequest, type RequestSchema } from './platform-request-schema.ts';
import { removeLiveLink, replaceLiveLink } from './project-link-route.ts';
import { takeDeliverySnapshots, takeSnapshot } from './snapshot.ts';

/**
 * What customers and employers do at the marketplace, and how its time is moved. Each control is a method of the
 * sandbox, and a POST below `/sandbox` that answers what the method returns.
 */
export const controls = {
  createInstall: control('/installs', installs.createInstall, wants.NewInstall),
  setPiiConsent: control('/installs/:id/consent', installs.setPiiConsent, wants.Consent),
  revokeInstall: control('/installs/:id/revoke', installs.revokeInstall),
  revokeToken: control('/installs/:id/revoke-token', installs.revokeToken),
  reconnect: control('/installs/:id/reconnect', installs.reconnect),

  removeLink: control('/links/:id/remove', removeLiveLink),
  relink: control('/links/:id/relink', replaceLiveLink, wants.Relink),

  createJob: control('/jobs', contracts.createJob, wants.NewJob),
  hire: control('/contracts', contracts.hire, wants.Hire),
  endContract: control('/contracts/:id/end', contracts.endContract, wants.End),
  raiseMistakenEnd: control('/contracts/:id/mistaken-end', contracts.raiseMistakenEnd),
  fundMilestone: control('/contracts/:id/fund', contracts.fundMilestone, wants.Funding),
  replaceParticipant: control('/contracts/:id/replace-participant', contracts.replaceParticipant, wants.Replacement),

  createAccount: control('/accounts', accounts.createAccount, wants.NewAccount),
  revokeAccountTokens: control('/accounts/:id/revoke-tokens', accounts.revokeAccountTokens),
  raiseNews: control('/accounts/:id/news', accounts.raiseNews, wants.FeedNews),
  setWorkEmail: control('/trainers/:id/work-email', accounts.setWorkEmail, wants.WorkEmail),
  billContract: control('/contracts/:id/bill', accounts.billContract, wants.Bill),
  settlePayment: control('/payments/:id/settle', accounts.settlePayment, wants.Settle),
  resolveApproval: control('/approvals/:id/resolve', accounts.resolveApproval, wants.Resolve),

  createManual: control('/accounts/:id/manuals', manuals.createManual, wants.NewManual),
  editPage: control('/pages/:id/edit', manuals.editPage, wants.PageEdit),
  publishManual: control('/manuals/:id/publish', manuals.publishManual, wants.NewPublication),
  bindManual: control('/manuals/:id/bind', manuals.bindManual, wants.NewBindings),
  archiveManual: control('/manuals/:id/archive', manuals.archiveManual),

  advance: control('/advance', advance, wants.Advance),
  idle: control('/idle', idle),
};

/** Gets the id in its path, where there is one, and what is wanted. */
type Act<Wanted> =
  | ((marketplace: Marketplace, id: string, wanted: Wanted) => object)
  | ((marketplace: Marketplace, wanted: Wanted) => object);

function control<Wanted, Does extends Act<Wanted>>(path: string, act: Does, schema?: RequestSchema<Wanted>) {
  return { path, act, schema: schema ?? wants.Nothing };
}

/** What a POST to the path of a control answers. @throws AppError */
export async function answerControl(
  marketplace: Marketplace,
  { path, act, schema }: { path: string; act: (...all: never[]) => object; schema: RequestSchema<unknown> },
  id: string,
  body: unknown,
): Promise<object> {
  const wanted = parseRequest(schema, body);
  const run = act as (marketplace: Marketplace, ...wanted: unknown[]) => object;
  return await (path.includes(':id') ? run(marketplace, id, wanted) : run(marketplace, wanted));
}

/** Without the marketplace, which the sandbox gives it. What is waited for returns nothing in process. */
type Method<Does> = Does extends (marketplace: Marketplace, ...wanted: infer Wanted) => infer Done
  ? (...wanted: Wanted) => Done extends Promise<unknown> ? Promise<void> : Done
  : never;

export type Control = { [Name in keyof typeof controls]: Method<(typeof controls)[Name]['act']> } & {
  /** Replaces the faults of one install or of all; without `faults` nothing goes wrong any more. */
  setFaults: Method<typeof setFaults>;
  snapshot: Method<typeof takeSnapshot>;
  listDeliveries: Method<typeof takeDeliverySnapshots>;
};

export function createControl(marketplace: Marketplace): Control {
  const acts = Object.entries(controls).map(([name, { act }]) => {
    const run = act as (marketplace: Marketplace, ...wanted: unknown[]) => unknown;
    return [name, (...wanted: unknown[]) => run(marketplace, ...wanted)];
  });
  return {
    ...(Object.fromEntries(acts) as Pick<Control, keyof typeof controls>),
    setFaults: (installId, faults) => setFaults(marketplace, installId, faults),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => takeDeliverySnapshots(marketplace),
  };
}
