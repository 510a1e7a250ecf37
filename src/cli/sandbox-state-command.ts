import type { Cell } from '../operations/show.ts';
import { formatTable } from '../operations/text-table.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import type { Printed } from './define-command.ts';
import { ask, type ControlOptions, toAnswer } from './sandbox-control.ts';
import type { Session } from './session.ts';

export async function runSandboxState({ url }: ControlOptions, { terminal }: Session): Promise<Printed> {
  const state = await ask<Snapshot>(terminal, url, '/state');
  return toAnswer(state, describeState(state));
}

function describeState(state: Snapshot): string[] {
  const jobTitles = new Map(state.jobs.map(({ id, title }) => [id, title]));
  return [
    ...describe(
      'Installs',
      ['id', 'status', 'consent'],
      state.installs.map(({ id, status, piiConsent }) => [id, status, piiConsent ? 'yes' : 'no']),
    ),
    ...describeAccounts(state),
    ...describe(
      'Jobs',
      ['id', 'title', 'paid', 'employer'],
      state.jobs.map(({ id, title, paymentType, organizationId }) => [id, title, paymentType ?? '', organizationId]),
    ),
    ...describe(
      'Links',
      ['id', 'project', 'job', 'install'],
      state.projectLinks.map(({ id, externalProjectId, jobId, installId }) => [
        id,
        externalProjectId,
        jobTitles.get(jobId ?? ''),
        installId,
      ]),
    ),
    ...describe(
      'Contracts',
      ['id', 'status', 'job', 'trainers', 'budget'],
      state.contracts.map(({ id, status, jobId, participants, budget }) => [
        id,
        status,
        `${jobTitles.get(jobId)} (${jobId})`,
        participants.map(({ displayName }) => displayName).join(', '),
        budget.state,
      ]),
    ),
    ...describe(
      'Endpoints',
      ['id', 'status', 'failures', 'url'],
      state.webhookEndpoints.map(({ id, status, consecutiveFailures, url }) => [id, status, consecutiveFailures, url]),
    ),
    ...describe('Faults', ['install', 'fault', 'happened'], countFaults(state)),
  ];
}

/** Employers with an account of their own. Their jobs name them. */
function describeAccounts({ accounts }: Snapshot): string[] {
  if (accounts.length === 0) return [];
  const rows = accounts.flatMap(({ id: account, approvals, pendingPayments }) => [
    ...approvals.map(({ id, status, contractId }) => [account, 'approval', id, status, contractId]),
    ...pendingPayments.map(({ id, status, contractId }) => [account, 'payment', id, status, contractId]),
  ]);
  return [
    ...describe(
      'Accounts',
      ['id', 'claimed'],
      accounts.map(({ id, isClaimed }) => [id, isClaimed ? 'yes' : 'no']),
    ),
    ...describe('Waits for a person, or did', ['account', 'what', 'id', 'status', 'contract'], rows),
  ];
}

function countFaults({ faults }: Snapshot): Cell[][] {
  const alike = Map.groupBy(faults.happened, ({ installId, fault }) => `${installId} ${fault}`);
  return [...alike.values()].map((group) => [group[0]?.installId, group[0]?.fault, group.length]);
}

function describe(title: string, columns: string[], rows: Cell[][]): string[] {
  if (rows.length === 0) return [`${title}: none`, ''];
  return [title, ...formatTable(columns, rows).split('\n'), ''];
}
