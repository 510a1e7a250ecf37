import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { AppError } from '../domain/errors.ts';
import type { HiredContract } from '../sandbox/contract-control.ts';
import type { Reconnection } from '../sandbox/install-control.ts';
import { createSandbox } from '../sandbox/sandbox.ts';
import type { Milestone } from '../sandbox/sandbox-state.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import { type Cell, formatTable, stripControl } from './table.ts';
import type { Terminal } from './terminal.ts';

const defaultPort = 8799;
const defaultUrl = `http://127.0.0.1:${defaultPort}`;

/** A marketplace to try Gangway against: one command runs it, the others act as its customers. */
export function createSandboxCommand(terminal: Terminal): Command {
  return new Command('sandbox')
    .description('run a simulated marketplace on this machine, or act as its customers')
    .option('--port <port>', 'the port to listen on, 0 for a free one', toPort, defaultPort)
    .option(
      '--time-scale <factor>',
      'how much faster than real time it waits between attempts to deliver; 0 stands still',
      toNumber,
      1,
    )
    .option('--json', 'print one JSON object instead of text')
    .action((options: RunOptions) => runSandbox(terminal, options))
    .addCommand(createHireCommand(terminal))
    .addCommand(createEndCommand(terminal))
    .addCommand(createFundCommand(terminal))
    .addCommand(createConsentCommand(terminal))
    .addCommand(createReconnectCommand(terminal))
    .addCommand(createStateCommand(terminal));
}

interface RunOptions {
  port: number;
  timeScale: number;
  json?: true;
}

async function runSandbox(terminal: Terminal, { port, timeScale, json }: RunOptions) {
  const sandbox = createSandbox({ port, timeScale });
  const address = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId, title } = sandbox.createJob({ installId });
  print(terminal, json, { ...address, installId, token, jobId }, [
    `Sandbox marketplace on ${address.url}`,
    `  platform API  ${address.baseUrl}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Hire somebody with: gangway sandbox hire',
  ]);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
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
  return createControlCommand<{ withdraw?: true }>(
    terminal,
    'consent',
    async (options, installId) => {
      const { url, withdraw = false } = options;
      const path = `/installs/${encodeURIComponent(installId)}/consent`;
      const value = await ask(terminal, url, path, { piiConsent: !withdraw });
      const line = `Install ${installId} ${withdraw ? 'no longer sees' : 'sees'} work addresses`;
      return { value, lines: [line] };
    },
  )
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

function createStateCommand(terminal: Terminal): Command {
  return createControlCommand(terminal, 'state', async ({ url }) => {
    const value = await ask<Snapshot>(terminal, url, '/state');
    return { value, lines: describeState(value) };
  }).description('show what the marketplace holds, without tokens and secrets');
}

function describeState(state: Snapshot): string[] {
  const jobTitles = new Map(state.jobs.map(({ id, title }) => [id, title]));
  return [
    ...describe(
      'Installs',
      ['id', 'status', 'consent'],
      state.installs.map(({ id, status, piiConsent }) => [id, status, piiConsent ? 'yes' : 'no']),
    ),
    ...describe(
      'Jobs',
      ['id', 'title', 'paid'],
      state.jobs.map(({ id, title, paymentType }) => [id, title, paymentType ?? '']),
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
        jobTitles.get(jobId),
        participants.map(({ displayName }) => displayName).join(', '),
        budget.state,
      ]),
    ),
    ...describe(
      'Endpoints',
      ['id', 'status', 'failures', 'url'],
      state.webhookEndpoints.map(({ id, status, consecutiveFailures, url }) => [
        id,
        status,
        consecutiveFailures,
        url,
      ]),
    ),
  ];
}

function describe(title: string, columns: string[], rows: Cell[][]): string[] {
  if (rows.length === 0) return [`${title}: none`, ''];
  return [title, ...formatTable(columns, rows).split('\n'), ''];
}

interface ControlOptions {
  url: string;
  json?: true;
}

/** What to print: as data for machines, as lines for people. */
interface Report {
  value: unknown;
  lines: string[];
}

/** @param act gets the options and, where the command has an argument, the id that it is. */
function createControlCommand<Options = object>(
  terminal: Terminal,
  name: string,
  act: (options: ControlOptions & Options, id: string) => Promise<Report>,
): Command {
  const command = new Command(name)
    .option('--url <url>', 'where the sandbox answers', toUrl, defaultUrl)
    .option('--json', 'print the answer as JSON instead of text');
  return command.action(async () => {
    // `sandbox` has a --json of its own, and takes it wherever it stands.
    const options = command.optsWithGlobals<ControlOptions & Options>();
    const { value, lines } = await act(options, command.args[0] ?? '');
    print(terminal, options.json, value, lines);
  });
}

/** Asks a running sandbox: with a body it is told to do something, without one it only answers. */
async function ask<T = unknown>(
  { signal }: Terminal,
  url: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(new URL(`/sandbox${path}`, url), {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const message = `No sandbox answers at ${url}; start one with: gangway sandbox`;
    throw new AppError('unavailable', message, { cause: error });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  throw toRefusal(url, response.status, answer);
}

const answerTimeoutMs = 10_000;

function toRefusal(url: string, status: number, answer: unknown): AppError {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) {
    const code = status === 404 ? 'not_found' : 'invalid';
    return new AppError(code, `The sandbox refused: ${stripControl(String(answer.error))}`);
  }
  return new AppError('unavailable', `What answers at ${url} is not a sandbox (HTTP ${status})`);
}

function print(terminal: Terminal, json: true | undefined, value: unknown, lines: string[]): void {
  const text = json ? JSON.stringify(value) : lines.map(stripControl).join('\n').trimEnd();
  terminal.stdout.write(`${text}\n`);
}

function toNumber(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError('a number from 0 upwards is needed');
}

function toPort(text: string): number {
  const port = toNumber(text);
  if (Number.isInteger(port) && port <= 65_535) return port;
  throw new InvalidArgumentError('a port from 0 to 65535 is needed');
}

function toUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError(`an address such as ${defaultUrl} is needed`);
}
