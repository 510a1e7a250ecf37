import {
  createJob,
  endContract,
  fundMilestone,
  hire,
  raiseMistakenEnd,
  replaceParticipant,
} from './contract-control.ts';
import * as wants from './control-request-schema.ts';
import {
  createAccount,
  raiseNews,
  resolveApproval,
  revokeAccountTokens,
  setWorkEmail,
} from './employer/account-control.ts';
import { archiveManual, bindManual, createManual, editPage, publishManual } from './employer/manual-control.ts';
import { NewBindings, NewManual, NewPublication, PageEdit } from './employer/manual-control-schema.ts';
import { billContract, settlePayment } from './employer/payment-control.ts';
import { setFaults } from './fault-control.ts';
import { createInstall, reconnect, revokeInstall, revokeToken, setPiiConsent } from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { parseRequest, type RequestSchema } from './platform-request-schema.ts';
import { removeLiveLink, replaceLiveLink } from './project-links.ts';
import { takeDeliverySnapshots, takeSnapshot } from './snapshot.ts';

/**
 * What customers and employers do at the marketplace, and how its time is moved. Each control is a method of the
 * sandbox, and a POST below `/sandbox`.
 */
export const controls = {
  createInstall: create('/installs', wants.NewInstall, createInstall),
  setPiiConsent: change('/installs/:id/consent', wants.Consent, setPiiConsent, (_, installId, piiConsent) => ({
    installId,
    piiConsent,
  })),
  revokeInstall: change('/installs/:id/revoke', wants.Nothing, revokeInstall, (_, installId) => ({
    installId,
    status: 'REVOKED',
  })),
  revokeToken: change('/installs/:id/revoke-token', wants.Nothing, revokeToken, (_, installId) => ({
    installId,
    token: 'revoked',
  })),
  reconnect: change('/installs/:id/reconnect', wants.Nothing, reconnect),

  removeLink: change('/links/:id/remove', wants.Nothing, removeLiveLink, (projectLink) => ({
    projectLink,
    deleted: true,
  })),
  relink: change('/links/:id/relink', wants.Relink, replaceLiveLink, (projectLink) => ({ projectLink })),

  createJob: create('/jobs', wants.NewJob, createJob),
  hire: create('/contracts', wants.Hire, hire),
  endContract: change('/contracts/:id/end', wants.End, endContract, (_, contractId) => ({
    contractId,
    status: 'ended',
  })),
  raiseMistakenEnd: change('/contracts/:id/mistaken-end', wants.Nothing, raiseMistakenEnd, (_, contractId) => ({
    contractId,
    status: 'active',
  })),
  fundMilestone: change('/contracts/:id/fund', wants.Funding, fundMilestone, (milestone, contractId) => ({
    contractId,
    milestone,
  })),
  replaceParticipant: change(
    '/contracts/:id/replace-participant',
    wants.Replacement,
    replaceParticipant,
    (participants, contractId) => ({ contractId, participants }),
  ),

  createAccount: create('/accounts', wants.NewAccount, createAccount),
  revokeAccountTokens: change('/accounts/:id/revoke-tokens', wants.Nothing, revokeAccountTokens, (_, accountId) => ({
    accountId,
    tokens: 'revoked',
  })),
  raiseNews: change('/accounts/:id/news', wants.FeedNews, raiseNews, (_, accountId, { type }) => ({
    accountId,
    type,
  })),
  setWorkEmail: change('/trainers/:id/work-email', wants.WorkEmail, setWorkEmail, (_, trainerId) => ({ trainerId })),
  billContract: change('/contracts/:id/bill', wants.Bill, billContract),
  settlePayment: change('/payments/:id/settle', wants.Settle, settlePayment, (_, paymentId, { outcome = 'paid' }) => ({
    paymentId,
    outcome,
  })),
  resolveApproval: change('/approvals/:id/resolve', wants.Resolve, resolveApproval, (_, approvalId, status) => ({
    approvalId,
    status,
  })),

  createManual: change('/accounts/:id/manuals', NewManual, createManual),
  editPage: change('/pages/:id/edit', PageEdit, editPage),
  publishManual: change('/manuals/:id/publish', NewPublication, publishManual),
  bindManual: change('/manuals/:id/bind', NewBindings, bindManual),
  archiveManual: change('/manuals/:id/archive', wants.Nothing, archiveManual),

  /** Moves the timeline forward, and makes each attempt that becomes due, in order. */
  advance: create(
    '/advance',
    wants.Advance,
    ({ dispatcher }: Marketplace, ms: number) => dispatcher.advance(ms),
    (_, __, advancedMs) => ({ advancedMs }),
  ),
  /** Resolves when no attempt is in flight and none is due. */
  idle: create(
    '/idle',
    wants.Nothing,
    ({ dispatcher }: Marketplace) => dispatcher.idle(),
    () => ({ isIdle: true }),
  ),
};

interface ControlEntry<Act> {
  path: string;
  act: Act;
  /** @throws AppError */
  answer(marketplace: Marketplace, id: string, body: unknown): Promise<object>;
}

/** Without the marketplace, which the sandbox gives it. */
type Method<Act> = Act extends (marketplace: Marketplace, ...wanted: infer Wanted) => infer Done
  ? (...wanted: Wanted) => Done
  : never;

export type Control = { [Name in keyof typeof controls]: Method<(typeof controls)[Name]['act']> } & {
  /** Replaces the faults of one install or of all; without `faults` nothing goes wrong any more. */
  setFaults: Method<typeof setFaults>;
  snapshot: Method<typeof takeSnapshot>;
  listDeliveries: Method<typeof takeDeliverySnapshots>;
};

export function createControl(marketplace: Marketplace): Control {
  const entries: [string, { act: (marketplace: Marketplace, ...wanted: never[]) => unknown }][] =
    Object.entries(controls);
  const acts = entries.map(([name, { act }]) => [name, (...wanted: never[]) => act(marketplace, ...wanted)]);
  return {
    ...(Object.fromEntries(acts) as Pick<Control, keyof typeof controls>),
    setFaults: (installId, faults) => setFaults(marketplace, installId, faults),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => takeDeliverySnapshots(marketplace),
  };
}

/** A control whose path has no id. @param toAnswer what is answered by HTTP; by default what `act` returns */
function create<Wanted, Act extends (marketplace: Marketplace, wanted: Wanted) => unknown>(
  path: string,
  schema: RequestSchema<Wanted>,
  act: Act,
  toAnswer?: (done: Awaited<ReturnType<Act>>, id: string, wanted: Wanted) => object,
): ControlEntry<Act> {
  return toEntry(path, schema, act, (marketplace, _, wanted) => act(marketplace, wanted), toAnswer);
}

/** A control of what the id in its path names. @param toAnswer as above */
function change<Wanted, Act extends (marketplace: Marketplace, id: string, wanted: Wanted) => unknown>(
  path: string,
  schema: RequestSchema<Wanted>,
  act: Act,
  toAnswer?: (done: Awaited<ReturnType<Act>>, id: string, wanted: Wanted) => object,
): ControlEntry<Act> {
  return toEntry(path, schema, act, act, toAnswer);
}

function toEntry<Wanted, Act extends (...all: never[]) => unknown>(
  path: string,
  schema: RequestSchema<Wanted>,
  act: Act,
  run: (marketplace: Marketplace, id: string, wanted: Wanted) => unknown,
  toAnswer = (done: Awaited<ReturnType<Act>>, _id: string, _wanted: Wanted) => done as object,
): ControlEntry<Act> {
  return {
    path,
    act,
    async answer(marketplace, id, body) {
      const wanted = parseRequest(schema, body);
      return toAnswer((await run(marketplace, id, wanted)) as Awaited<ReturnType<Act>>, id, wanted);
    },
  };
}
