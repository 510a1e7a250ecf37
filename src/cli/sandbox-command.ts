import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { stripControl } from '../lib/strip-control.ts';
import { createSandbox } from '../sandbox/sandbox.ts';
import { type FaultOptions, toFaults } from './sandbox-fault-options.ts';
import type { Session } from './session.ts';

interface RunOptions extends FaultOptions {
  port: number;
  timeScale: number;
  seed: string | undefined;
  json: boolean;
}

/** `gangway sandbox`: runs a simulated marketplace until it is stopped. */
export async function runSandbox(options: RunOptions, { terminal }: Session): Promise<undefined> {
  const { port, timeScale, json, seed = randomUUID() } = options;
  const faults = toFaults(options);
  const sandbox = createSandbox({ port, timeScale, seed, ...(faults && { faults }) });
  const address = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId, title } = sandbox.createJob({ installId });
  const lines = [
    `Sandbox marketplace on ${address.url}`,
    `  platform API  ${address.baseUrl}`,
    `  seed          ${seed}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Hire a trainer with: gangway sandbox hire',
  ];
  const data = { ...address, seed, installId, token, jobId };
  terminal.stdout.write(`${json ? JSON.stringify(data) : lines.map(stripControl).join('\n')}\n`);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
}
