import { InvalidArgumentError } from 'commander';
import { defineCommand } from '../define-command.ts';
import { argument, flag, option, toAmount, withDefault } from '../options.ts';
import { faultOptions } from '../sandbox-fault-options.ts';

/** A marketplace to try Gangway against: one command runs it, the others act as its customers. */

const defaultPort = 8799;
const defaultUrl = `http://127.0.0.1:${defaultPort}`;

const url = withDefault('<url>', 'where the sandbox answers', defaultUrl, toUrl);
const local = 'a sandbox is named with --url';
const json = 'print the answer as JSON instead of text';

const hire = defineCommand({
  name: 'hire',
  description: 'hire a trainer for a job: a contract starts',
  options: {
    url,
    job: option('<id>', 'the job to hire for (default: the newest)'),
    trainer: option('<id>', 'an opentrainUserId, to hire the same person again'),
    name: option('<name>', 'the display name of the trainer'),
    email: option('<address>', 'the work address of the trainer'),
  },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxHire,
  local,
});

const contract = argument('<contract>', 'the id of the contract');

const end = defineCommand({
  name: 'end',
  description: 'end a contract',
  arguments: { contract },
  options: { url },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxEnd,
  local,
});

const fund = defineCommand({
  name: 'fund',
  description: 'fund a milestone of a contract',
  arguments: { contract },
  options: {
    url,
    volume: withDefault('<number>', 'hours or labels, as the job is paid', 10, toAmount),
    amount: withDefault('<usd>', 'what it costs, in US dollars', 200, toAmount),
  },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxFund,
  local,
});

const bill = defineCommand({
  name: 'bill',
  description: "have a payment for a contract wait for a person of the employer's own account",
  arguments: { contract },
  options: { url, amount: withDefault('<usd>', 'how much is to be paid, in US dollars', 200, toAmount) },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxBill,
  local,
});

const pay = defineCommand({
  name: 'pay',
  description: 'pay what waits, which funds a milestone',
  arguments: { payment: argument('<payment>', 'the id of the payment') },
  options: { url, cancel: flag('have it cancelled instead, which no event says') },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxPay,
  local,
});

const install = argument('<install>', 'the id of the install');

const consent = defineCommand({
  name: 'consent',
  description: "let an install see its trainers' work addresses, or no longer",
  arguments: { install },
  options: { url, withdraw: flag('take the consent back') },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxConsent,
  local,
});

const reconnect = defineCommand({
  name: 'reconnect',
  description: 'connect the customer anew: the old install is revoked, a new one has a new token',
  arguments: { install },
  options: { url },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxReconnect,
  local,
});

const account = defineCommand({
  name: 'account',
  description: "make an employer's own account, with a personal token and a job",
  options: { url, unclaimed: flag('as a program makes it, before a person claims it') },
  json,
  run: async () => (await import('../sandbox-customer-commands.ts')).runSandboxAccount,
  local,
});

const setFaults = defineCommand({
  name: 'faults',
  description: 'have things go wrong from now on, or show what went wrong',
  options: {
    url,
    install: option('<id>', 'for this install alone (default: all)'),
    clear: flag('have nothing go wrong any more'),
    ...faultOptions,
  },
  json,
  run: async () => (await import('../sandbox-faults-command.ts')).runSandboxFaults,
  local,
});

const state = defineCommand({
  name: 'state',
  description: 'show what the marketplace holds, without tokens and secrets',
  options: { url },
  json,
  run: async () => (await import('../sandbox-state-command.ts')).runSandboxState,
  local,
});

export const sandboxCommand = defineCommand({
  name: 'sandbox',
  description: 'run a simulated marketplace on this machine, or act as its customers',
  options: {
    port: withDefault('<port>', 'the port to listen on, 0 for a free one', defaultPort, toPort),
    timeScale: withDefault(
      '<factor>',
      'how much faster than real time it waits between attempts to deliver; 0 stands still',
      1,
      toAmount,
    ),
    seed: option('<text>', 'decides every id, token and fault (default: a random one)'),
    ...faultOptions,
  },
  run: async () => (await import('../sandbox-command.ts')).runSandbox,
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
