import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { createSandbox } from '../sandbox/sandbox.ts';
import { defaultPort, print, toNumber } from './sandbox-control.ts';
import { createCustomerCommands } from './sandbox-customer-commands.ts';
import { addFaultOptions, type FaultOptions, toFaults } from './sandbox-fault-options.ts';
import { createFaultsCommand } from './sandbox-faults-command.ts';
import { createStateCommand } from './sandbox-state-command.ts';
import type { Terminal } from './terminal.ts';

/** A marketplace to try Gangway against: one command runs it, the others act as its customers. */
export function createSandboxCommand(terminal: Terminal): Command {
  const command = new Command('sandbox')
    .description('run a simulated marketplace on this machine, or act as its customers')
    .option('--port <port>', 'the port to listen on, 0 for a free one', toPort, defaultPort)
    .option(
      '--time-scale <factor>',
      'how much faster than real time it waits between attempts to deliver; 0 stands still',
      toNumber,
      1,
    )
    .option('--seed <text>', 'decides every id, token and fault (default: a random one)')
    .option('--json', 'print one JSON object instead of text')
    .action((options: RunOptions) => runSandbox(terminal, options));
  for (const child of [
    ...createCustomerCommands(terminal),
    createFaultsCommand(terminal),
    createStateCommand(terminal),
  ]) {
    command.addCommand(child);
  }
  return addFaultOptions(command);
}

interface RunOptions extends FaultOptions {
  port: number;
  timeScale: number;
  seed?: string;
  json?: true;
}

async function runSandbox(terminal: Terminal, options: RunOptions) {
  const { port, timeScale, json, seed = randomUUID() } = options;
  const faults = toFaults(options);
  const sandbox = createSandbox({ port, timeScale, seed, ...(faults && { faults }) });
  const address = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId, title } = sandbox.createJob({ installId });
  print(terminal, json, { ...address, seed, installId, token, jobId }, [
    `Sandbox marketplace on ${address.url}`,
    `  platform API  ${address.baseUrl}`,
    `  seed          ${seed}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Hire somebody with: gangway sandbox hire',
  ]);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
}

function toPort(text: string): number {
  const port = toNumber(text);
  if (Number.isInteger(port) && port <= 65_535) return port;
  throw new InvalidArgumentError('a port from 0 to 65535 is needed');
}
