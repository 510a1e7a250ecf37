import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { openJourney } from '../support/journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';
import { useBridge } from './bridge.ts';

const group = 'street-signs';

describe('gangway access', () => {
  const { receive, run, runOk } = useBridge();

  it('lists who could get in, from a running instance, also as CSV', async () => {
    vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.vera.token);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { customer, sandbox, quiet, consoleUrl } = await openJourney(sqlite);
    await customer.link(group);
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    const remote = (...argv: string[]) => runCommand('access', ...argv, '--remote', consoleUrl);
    const asked = await remote('--json');
    const { items } = JSON.parse(asked.stdout) as { items: object[] };
    expect(items).toEqual([expect.objectContaining({ trainerId: expect.any(String), until: null, isAdded: true })]);
    const [titles, row] = (await remote('--output', 'csv')).stdout.split('\r\n');
    expect(titles).toMatch(/^name,trainer,tool,.*,membership$/);
    expect(row).toMatch(/,1$/);
    expect((await remote('--to', '2026-01-01T00:00:00Z')).stdout).toBe('Nobody had access in this period.\n');
  });

  it('says that nobody could get in, from the database', async () => {
    await receive();
    expect(await runOk('access')).toBe('Nobody had access in this period.\n');
    const backwards = ['--from', '2026-03-02T00:00:00Z', '--to', '2026-03-01T00:00:00Z'];
    expect(await run('access', ...backwards)).toMatchObject({ status: 1 });
  });
});
