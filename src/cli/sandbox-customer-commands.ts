import { AppError } from '../domain/errors.ts';
import type { HiredContract } from '../sandbox/contract-control.ts';
import type { PendingPayment } from '../sandbox/employer/account.ts';
import type { CreatedAccount } from '../sandbox/employer/account-control.ts';
import type { Reconnection } from '../sandbox/install-control.ts';
import type { Job, Milestone } from '../sandbox/sandbox-state.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import type { Printed } from './define-command.ts';
import { ask, type ControlOptions, toAnswer } from './sandbox-control.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';

/** What customers and employers do, on a sandbox that runs already. */

interface HireOptions extends ControlOptions {
  job: string | undefined;
  trainer: string | undefined;
  name: string | undefined;
  email: string | undefined;
}

export async function runSandboxHire(options: HireOptions, { terminal }: Session): Promise<Printed> {
  const { url } = options;
  const trainer = { opentrainUserId: options.trainer, displayName: options.name, workEmail: options.email };
  const jobId = options.job ?? (await findNewestJob(terminal, url));
  const hired = await ask<HiredContract>(terminal, url, '/contracts', { jobId, trainers: [trainer] });
  return toAnswer(hired, [
    `Contract ${hired.contractId} started on job ${hired.jobId}`,
    ...hired.trainers.map(
      ({ opentrainUserId, displayName, workEmail }) =>
        `  ${displayName}  ${workEmail ?? '(no work address)'}  ${opentrainUserId}`,
    ),
  ]);
}

async function findNewestJob(terminal: Terminal, url: string): Promise<string> {
  const { jobs } = await ask<Snapshot>(terminal, url, '/state');
  const newest = jobs.at(-1);
  if (newest === undefined) throw new AppError('not_found', `The sandbox at ${url} has no job`);
  return newest.id;
}

interface ContractOptions extends ControlOptions {
  contract: string;
}

export async function runSandboxEnd({ contract, url }: ContractOptions, { terminal }: Session): Promise<Printed> {
  const answer = await ask(terminal, url, `/contracts/${encodeURIComponent(contract)}/end`, {});
  return toAnswer(answer, [`Contract ${contract} ended`]);
}

interface FundOptions extends ContractOptions {
  volume: number;
  amount: number;
}

export async function runSandboxFund(
  { contract, url, volume, amount }: FundOptions,
  { terminal }: Session,
): Promise<Printed> {
  const path = `/contracts/${encodeURIComponent(contract)}/fund`;
  const funded = await ask<{ milestone: Milestone }>(terminal, url, path, { volume, amountUsd: amount });
  const { name } = funded.milestone;
  return toAnswer(funded, [`${name} of contract ${contract} funded: ${volume} for ${amount} USD`]);
}

export async function runSandboxBill(
  { contract, url, amount }: ContractOptions & { amount: number },
  { terminal }: Session,
): Promise<Printed> {
  const path = `/contracts/${encodeURIComponent(contract)}/bill`;
  const payment = await ask<PendingPayment>(terminal, url, path, { amountUsd: amount });
  return toAnswer(payment, [
    `Payment ${payment.id} of ${amount} USD waits for a person`,
    `Pay it with: gangway sandbox pay ${payment.id}`,
  ]);
}

export async function runSandboxPay(
  { payment, url, cancel }: ControlOptions & { payment: string; cancel: boolean },
  { terminal }: Session,
): Promise<Printed> {
  const outcome = cancel ? 'cancelled' : 'paid';
  const answer = await ask(terminal, url, `/payments/${encodeURIComponent(payment)}/settle`, { outcome });
  return toAnswer(answer, [`Payment ${payment} is ${outcome}`]);
}

interface InstallOptions extends ControlOptions {
  install: string;
}

export async function runSandboxConsent(
  { install, url, withdraw }: InstallOptions & { withdraw: boolean },
  { terminal }: Session,
): Promise<Printed> {
  const answer = await ask(terminal, url, `/installs/${encodeURIComponent(install)}/consent`, {
    piiConsent: !withdraw,
  });
  return toAnswer(answer, [`Install ${install} ${withdraw ? 'no longer sees' : 'sees'} work addresses`]);
}

export async function runSandboxReconnect({ install, url }: InstallOptions, { terminal }: Session): Promise<Printed> {
  const path = `/installs/${encodeURIComponent(install)}/reconnect`;
  const answer = await ask<Reconnection>(terminal, url, path, {});
  return toAnswer(answer, [
    `Install ${answer.revokedInstallId} is revoked; its links and endpoints stay with it`,
    `  install       ${answer.installId}`,
    `  token         ${answer.token}`,
  ]);
}

export async function runSandboxAccount(
  { url, unclaimed }: ControlOptions & { unclaimed: boolean },
  { terminal }: Session,
): Promise<Printed> {
  const made = await ask<CreatedAccount>(terminal, url, '/accounts', { isClaimed: !unclaimed });
  const { id: jobId } = await ask<Job>(terminal, url, '/jobs', { accountId: made.accountId });
  return toAnswer({ ...made, jobId }, [
    `Account ${made.accountId}`,
    `  job           ${jobId}`,
    `  token         ${made.token}`,
  ]);
}
