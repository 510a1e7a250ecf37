import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { stripControl } from '../lib/text.ts';
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
    `  employer API  ${address.employerBaseUrl}`,
    `  seed          ${seed}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Connect it, in another terminal:',
    `  gangway init --public-url http://127.0.0.1:8787 --marketplace-url ${address.url}`,
    `  GANGWAY_CONNECT_TOKEN=${token} gangway connect acme`,
    `  gangway links add street-signs --job ${jobId}`,
    '  gangway start',
    `Hire a trainer with: gangway sandbox hire --url ${address.url}`,
    `If you hire with your own account, begin with: gangway sandbox account --url ${address.url}`,
  ];
  const data = { ...address, seed, installId, token, jobId };
  terminal.stdout.write(`${json ? JSON.stringify(data) : lines.map(stripControl).join('\n')}\n`);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
}
