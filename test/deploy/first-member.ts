import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { until } from '../support/until.ts';

/** A marketplace with one trainer who is hired already. */
interface Marketplace {
  baseUrl: string;
  token: string;
  jobId: string;
}

interface Way {
  name: string;
  /** What a new user types, in order. */
  commands(marketplace: Marketplace): string[];
  /** Runs it as a shell does. It may go on in the background. */
  type(command: string): Promise<void>;
  /** The ids of the trainers in the project. */
  members(): Promise<string[]> | string[];
}

const longestMs = 5 * 60_000;

/** Types what the documentation says until the first trainer is in, and prints how long that took. */
export async function letFirstMemberIn({ name, commands, type, members }: Way): Promise<void> {
  const { sandbox, baseUrl, token, jobId } = await openWorld();
  const { trainers } = sandbox.hire({ jobId });
  const began = performance.now();
  const typed = commands({ baseUrl, token, jobId });
  for (const command of typed) await type(command);
  await until('the trainer is in', members, (ids) => ids.includes(trainers[0]?.opentrainUserId ?? ''));
  const tookMs = performance.now() - began;
  process.stdout.write(`${name}: ${typed.length} commands and ${Math.round(tookMs / 1000)} s to the first member\n`);
  expect(tookMs).toBeLessThan(longestMs);
}

/** Connecting the customer and the project, which is the same everywhere. @param gangway how the command is called */
export function connecting({ token, jobId }: Marketplace, gangway = 'gangway'): string[] {
  return [`GANGWAY_CONNECT_TOKEN=${token} ${gangway} connect acme`, `${gangway} links add street-signs --job ${jobId}`];
}

export const run = promisify(execFile);
