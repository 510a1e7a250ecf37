import type { Command } from 'commander';
import { AppError } from '../domain/errors.ts';
import type { HiredContract } from '../sandbox/contract-control.ts';
import type { Reconnection } from '../sandbox/install-control.ts';
import type { Milestone } from '../sandbox/sandbox-state.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import { ask, createControlCommand, toNumber } from './sandbox-control.ts';
import type { Terminal } from './terminal.ts';

/** What customers and employers do, on a sandbox that runs already. */
export function createCustomerCommands(terminal: Terminal): Command[] {
  return [
    createHireCommand(terminal),
    createEndCommand(terminal),
    createFundCommand(terminal),
    createConsentCommand(terminal),
    createReconnectCommand(terminal),
  ];
}

interface HireOptions {
  job?: string;
  trainer?: string;
  name?: string;
  email?: string;
}

function createHireCommand(terminal: Terminal): Command {
  return createControlCommand<HireOptions>(terminal, 'hire', async (options) => {
    const trainer = {
      opentrainUserId: options.trainer,
      displayName: options.name,
      workEmail: options.email,
    };
    const jobId = options.job ?? (await findNewestJob(terminal, options.url));
    const body = { jobId, trainers: [trainer] };
    const hired = await ask<HiredContract>(terminal, options.url, '/contracts', body);
    const lines = hired.trainers.map(
      ({ opentrainUserId, displayName, workEmail }) =>
        `  ${displayName}  ${workEmail ?? '(no work address)'}  ${opentrainUserId}`,
    );
    const headline = `Contract ${hired.contractId} started on job ${hired.jobId}`;
    return { value: hired, lines: [headline, ...lines] };
  })
    .description('hire a trainer for a job: a contract starts')
    .option('--job <id>', 'the job to hire for (default: the newest)')
    .option('--trainer <id>', 'an opentrainUserId, to hire the same person again')
    .option('--name <name>', 'the display name of the trainer')
    .option('--email <address>', 'the work address of the trainer');
}

async function findNewestJob(terminal: Terminal, url: string): Promise<string> {
  const { jobs } = await ask<Snapshot>(terminal, url, '/state');
  const newest = jobs.at(-1);
  if (newest === undefined) throw new AppError('not_found', `The sandbox at ${url} has no job`);
  return newest.id;
}

function createEndCommand(terminal: Terminal): Command {
  return createControlCommand(terminal, 'end', async ({ url }, contractId) => {
    const path = `/contracts/${encodeURIComponent(contractId)}/end`;
    const value = await ask(terminal, url, path, {});
    return { value, lines: [`Contract ${contractId} ended`] };
  })
    .description('end a contract')
    .argument('<contract>', 'the id of the contract');
}

interface FundOptions {
  volume: number;
  amount: number;
}

function createFundCommand(terminal: Terminal): Command {
  return createControlCommand<FundOptions>(terminal, 'fund', async (options, contractId) => {
    const { url, volume, amount } = options;
    const path = `/contracts/${encodeURIComponent(contractId)}/fund`;
    const body = { volume, amountUsd: amount };
    const funded = await ask<{ milestone: Milestone }>(terminal, url, path, body);
    const { name } = funded.milestone;
    const line = `${name} of contract ${contractId} funded: ${volume} for ${amount} USD`;
    return { value: funded, lines: [line] };
  })
    .description('fund a milestone of a contract')
    .argument('<contract>', 'the id of the contract')
    .option('--volume <number>', 'hours or labels, as the job is paid', toNumber, 10)
    .option('--amount <usd>', 'what it costs, in US dollars', toNumber, 200);
}

function createConsentCommand(terminal: Terminal): Command {
  return createControlCommand<{ withdraw?: true }>(terminal, 'consent', async (options, installId) => {
    const { url, withdraw = false } = options;
    const path = `/installs/${encodeURIComponent(installId)}/consent`;
    const value = await ask(terminal, url, path, { piiConsent: !withdraw });
    const line = `Install ${installId} ${withdraw ? 'no longer sees' : 'sees'} work addresses`;
    return { value, lines: [line] };
  })
    .description("let an install see its trainers' work addresses, or no longer")
    .argument('<install>', 'the id of the install')
    .option('--withdraw', 'take the consent back');
}

function createReconnectCommand(terminal: Terminal): Command {
  return createControlCommand(terminal, 'reconnect', async ({ url }, installId) => {
    const path = `/installs/${encodeURIComponent(installId)}/reconnect`;
    const value = await ask<Reconnection>(terminal, url, path, {});
    const lines = [
      `Install ${value.revokedInstallId} is revoked; its links and endpoints stay with it`,
      `  install       ${value.installId}`,
      `  token         ${value.token}`,
    ];
    return { value, lines };
  })
    .description('connect the customer anew: the old install is revoked, a new one has a new token')
    .argument('<install>', 'the id of the install');
}
