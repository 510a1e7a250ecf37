import { InvalidArgumentError } from 'commander';
import { AppError } from '../../domain/errors.ts';
import { stripControl } from '../../lib/text.ts';
import type { HiredContract } from '../../sandbox/contract-control.ts';
import type { PendingPayment } from '../../sandbox/employer/account.ts';
import type { CreatedAccount } from '../../sandbox/employer/account-control.ts';
import type { Reconnection } from '../../sandbox/install-control.ts';
import type { Milestone } from '../../sandbox/platform-answer-schema.ts';
import type { Job } from '../../sandbox/sandbox-state.ts';
import type { Snapshot } from '../../sandbox/snapshot.ts';
import { type CreateCommand, defineCommand, type Given } from '../define-command.ts';
import { argument, flag, type Inputs, option, toAmount, withDefault } from '../options.ts';
import { askSandbox, faultOptions, runSandbox, toFaults } from '../sandbox-command.ts';

const defaultPort = 8799;
const defaultUrl = `http://127.0.0.1:${defaultPort}`;

const url = withDefault('<url>', 'Where the sandbox answers', defaultUrl, toUrl);
const local = 'a sandbox is named with --url';

interface ControlCommand<Arguments extends Inputs, Options extends Inputs> {
  name: string;
  description: string;
  arguments?: Arguments;
  options?: Options;
  /** @returns the sandbox's answer, and the lines for people */
  act(given: Given<Arguments, Options & { url: typeof url }>, ask: Ask): Promise<[data: unknown, ...lines: string[]]>;
}

/** Sends a request to the control at this path: with a body to change something, without one to read. */
type Ask = <T = unknown>(path: readonly string[], body?: object) => Promise<T>;

/** A command that acts as a customer or an employer at a running sandbox. */
function control<Arguments extends Inputs = Record<never, never>, Options extends Inputs = Record<never, never>>({
  options,
  act,
  ...declared
}: ControlCommand<Arguments, Options>): CreateCommand {
  return defineCommand<Arguments, Options & { url: typeof url }>({
    ...declared,
    options: { url, ...(options as Options) },
    run:
      async () =>
      async (given, { terminal }) => {
        const [data, ...lines] = await act(given, (path, body) =>
          askSandbox(terminal, String(given.url), `/${path.map(encodeURIComponent).join('/')}`, body),
        );
        return { data, text: () => lines.map(stripControl).join('\n') };
      },
    local,
    json: 'print the answer as JSON instead of text',
  });
}

const hire = control({
  name: 'hire',
  description: 'Hire a trainer for a job: a contract starts',
  options: {
    job: option('<id>', 'The job to hire for (default: the newest)'),
    trainer: option('<id>', 'An opentrainUserId, to hire the same person again'),
    name: option('<name>', 'The display name of the trainer'),
    email: option('<address>', 'The work address of the trainer'),
  },
  async act({ url: at, job, trainer, name, email }, ask) {
    const jobId = job ?? (await ask<Snapshot>(['state'])).jobs.at(-1)?.id;
    if (jobId === undefined) throw new AppError('not_found', `The sandbox at ${at} has no job`);
    const trainers = [{ opentrainUserId: trainer, displayName: name, workEmail: email }];
    const hired = await ask<HiredContract>(['contracts'], { jobId, trainers });
    return [
      hired,
      `Contract ${hired.contractId} started on job ${hired.jobId}`,
      ...hired.trainers.map(
        ({ opentrainUserId, displayName, workEmail }) =>
          `  ${displayName}  ${workEmail ?? '(no work address)'}  ${opentrainUserId}`,
      ),
    ];
  },
});

const contract = argument('<contract>', 'The id of the contract');

const end = control({
  name: 'end',
  description: 'End a contract',
  arguments: { contract },
  act: async ({ contract: id }, ask) => [await ask(['contracts', id, 'end'], {}), `Contract ${id} ended`],
});

const fund = control({
  name: 'fund',
  description: 'Fund a milestone of a contract',
  arguments: { contract },
  options: {
    volume: withDefault('<number>', 'Hours or labels, as the job is paid', 10, toAmount),
    amount: withDefault('<usd>', 'What it costs, in US dollars', 200, toAmount),
  },
  async act({ contract: id, volume, amount }, ask) {
    const body = { volume, amountUsd: amount };
    const funded = await ask<{ milestone: Milestone }>(['contracts', id, 'fund'], body);
    return [funded, `${funded.milestone.name} of contract ${id} funded: ${volume} for ${amount} USD`];
  },
});

const bill = control({
  name: 'bill',
  description: "Have a payment for a contract wait for a person of the employer's own account",
  arguments: { contract },
  options: { amount: withDefault('<usd>', 'How much is to be paid, in US dollars', 200, toAmount) },
  async act({ contract: id, amount }, ask) {
    const payment = await ask<PendingPayment>(['contracts', id, 'bill'], { amountUsd: amount });
    return [
      payment,
      `Payment ${payment.id} of ${amount} USD waits for a person`,
      `Pay it with: gangway sandbox pay ${payment.id}`,
    ];
  },
});

const pay = control({
  name: 'pay',
  description: 'Pay what waits, which funds a milestone',
  arguments: { payment: argument('<payment>', 'The id of the payment') },
  options: { cancel: flag('Have it cancelled instead, which no event says') },
  async act({ payment, cancel }, ask) {
    const outcome = cancel ? 'cancelled' : 'paid';
    return [await ask(['payments', payment, 'settle'], { outcome }), `Payment ${payment} is ${outcome}`];
  },
});

const install = argument('<install>', 'The id of the install');

const consent = control({
  name: 'consent',
  description: "Let an install see its trainers' work addresses, or no longer",
  arguments: { install },
  options: { withdraw: flag('Take the consent back') },
  act: async ({ install: id, withdraw }, ask) => [
    await ask(['installs', id, 'consent'], { piiConsent: !withdraw }),
    `Install ${id} ${withdraw ? 'no longer sees' : 'sees'} work addresses`,
  ],
});

const reconnect = control({
  name: 'reconnect',
  description: 'Connect the customer anew: the old install is revoked, a new one has a new token',
  arguments: { install },
  async act({ install: id }, ask) {
    const answer = await ask<Reconnection>(['installs', id, 'reconnect'], {});
    return [
      answer,
      `Install ${answer.revokedInstallId} is revoked; its links and endpoints stay with it`,
      `  install       ${answer.installId}`,
      `  token         ${answer.token}`,
    ];
  },
});

const account = control({
  name: 'account',
  description: "Make an employer's own account, with a personal token and a job",
  options: { unclaimed: flag('As a program makes it, before a person claims it') },
  async act({ url: at, unclaimed }, ask) {
    const made = await ask<CreatedAccount>(['accounts'], { isClaimed: !unclaimed });
    const { id: jobId } = await ask<Job>(['jobs'], { accountId: made.accountId });
    return [
      { ...made, jobId },
      `Account ${made.accountId}`,
      `  job           ${jobId}`,
      `  token         ${made.token}`,
      'Connect it:',
      `  gangway init --employer --public-url http://127.0.0.1:8787 --marketplace-url ${at}`,
      `  GANGWAY_CONNECT_TOKEN=${made.token} gangway connect own --employer --job ${jobId}=street-signs`,
      '  gangway start',
      `Hire a trainer with: gangway sandbox hire --url ${at} --job ${jobId}`,
    ];
  },
});

const setFaults = control({
  name: 'faults',
  description: 'Have things go wrong from now on, or show what went wrong',
  options: {
    install: option('<id>', 'For this install alone (default: all)'),
    clear: flag('Have nothing go wrong any more'),
    ...faultOptions,
  },
  async act({ install: installId, clear, ...options }, ask) {
    const faults = toFaults(options);
    if (faults !== undefined && clear) {
      throw new AppError('invalid', '--clear goes without faults: they replace what was set');
    }
    if (faults !== undefined || clear) return inLines(await ask(['faults'], { installId, faults }));
    return inLines((await ask<Snapshot>(['state'])).faults);
  },
});

const state = control({
  name: 'state',
  description: 'Show what the marketplace holds, without tokens and secrets',
  act: async (_given, ask) => inLines(await ask(['state'])),
});

function inLines(data: unknown): [data: unknown, ...lines: string[]] {
  return [data, ...JSON.stringify(data, null, 2).split('\n')];
}

export const sandboxCommand = defineCommand({
  name: 'sandbox',
  description: 'Run a simulated marketplace on this machine, or act as its customers',
  options: {
    port: withDefault('<port>', 'The port to listen on, 0 for a free one', defaultPort, toPort),
    timeScale: withDefault(
      '<factor>',
      'How much faster than real time it waits between attempts to deliver; 0 stands still',
      1,
      toAmount,
    ),
    seed: option('<text>', 'Decides every id, token and fault (default: a random one)'),
    ...faultOptions,
  },
  run: async () => runSandbox,
  local,
  subcommands: [hire, end, fund, bill, pay, consent, reconnect, account, setFaults, state],
});

function toPort(text: string): number {
  const port = toAmount(text);
  if (Number.isInteger(port) && port <= 65_535) return port;
  throw new InvalidArgumentError('a port from 0 to 65535 is needed');
}

function toUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError(`an address such as ${defaultUrl} is needed`);
}
