import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { createFolder } from '../../support/folder.ts';
import { openJourney } from '../../support/journey.ts';
import { consoleTokens } from '../../support/visitor.ts';
import { installPythonPackage } from '../../tools/python-package.ts';

/**
 * Sends requests that are generated from the API's own document, valid and invalid ones, with schemathesis from Python's
 * index.
 */

const minuteMs = 60_000;
const bin = await installPythonPackage('schemathesis', ['schemathesis==4.32.5']);

/** A bridge with people, contracts, deliveries, and an open plan. */
async function openWorld() {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet, pass, deliver } = journey;
  const linkId = await customer.link('street-signs');
  for (let count = 0; count < 4; count += 1) sandbox.hire({ jobId: customer.jobId });
  await quiet();
  await pass(2 * 60 * minuteMs);
  await customer.api('DELETE', `/project-links/${linkId}`);
  await quiet();
  await pass(20 * minuteMs);
  await deliver('no event');
  await quiet();
  return journey;
}

describe.skipIf(bin === null)('schemathesis', () => {
  it.each(['viewer', 'operator'] as const)('finds nothing wrong with the API as %s', async (role) => {
    const { consoleUrl, log } = await openWorld();
    const { token } = role === 'viewer' ? consoleTokens.vera : consoleTokens.otto;
    const { output, code } = await fuzz(consoleUrl, token, role === 'viewer' ? 20 : 50);
    expect(code, output).toBe(0);
    expect(log.lines().filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/**
 * A valid request is never answered with 400, which means that it is not valid. It may be refused for another reason, such
 * as an invented cursor or a key that is used twice.
 */
const settings = `[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "424"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "431"]
`;

/** Always sends the same requests, so that a failure can be repeated. */
async function fuzz(consoleUrl: string, token: string, examples: number): Promise<{ output: string; code: number }> {
  const cwd = createFolder();
  writeFileSync(path.join(cwd, 'schemathesis.toml'), settings);
  const asked = ['run', `${consoleUrl}/api/v1/openapi.json`, '-H', `Authorization: Bearer ${token}`];
  const steady = ['--seed', '1', '--workers', '1', '--no-color', '--generation-database', 'none'];
  const args = [...asked, '--checks', 'all', '--max-examples', String(examples), ...steady];
  try {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(path.join(bin ?? '', 'schemathesis'), args, options);
    return { output: stdout, code: 0 };
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: number };
    return { output: `${stdout}${stderr}`, code: code ?? 1 };
  }
}
