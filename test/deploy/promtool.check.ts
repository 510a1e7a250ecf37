import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { openJourney } from '../support/journey.ts';
import { post } from '../support/receiver-harness.ts';

/** Prometheus' own tool on the rules and on what a bridge shows. Debian has it in its package `prometheus`. */

const { status } = spawnSync('promtool', ['--version']);
const isInstalled = status === 0;
if (!isInstalled) process.stderr.write('*** NOT RUN: promtool (package prometheus) is not installed ***\n');

/** Named so by prom-client: gauges that end like counters. */
const namedByPackage = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

describe.skipIf(!isInstalled)('promtool', () => {
  it('accepts the rules', () => {
    const { status, output } = promtool(['check', 'rules', 'deploy/prometheus/gangway.rules.yml']);
    expect(status, output).toBe(0);
  });

  it('sees each rule fire by its cause, and none on a healthy day', () => {
    const { status, output } = promtool(['test', 'rules', 'deploy/prometheus/gangway.rules.test.yml']);
    expect(status, output).toBe(0);
  });

  it('accepts the metrics of a bridge through which a trainer came and went', async () => {
    const journey = await openJourney(sqlite);
    const { sandbox, customer, receiverUrl, consoleUrl } = journey;
    await customer.link('street-signs');
    const { contractId } = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    sandbox.endContract(contractId);
    await journey.quiet();
    await post(`${receiverUrl}/webhooks/acme`, '{}', { 'content-type': 'application/json' });

    const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
    for (const name of ['deliveries_total', 'refusals_total', 'tool_calls_total', 'memberships', 'removals_total'])
      expect(metrics).toMatch(new RegExp(`^gangway_${name}\\{.+\\} [1-9]`, 'm'));
    const { output } = promtool(['check', 'metrics'], metrics);
    const complaints = output.split('\n').filter((line) => line !== '');
    expect(complaints.filter((line) => !namedByPackage.some((name) => line.startsWith(`${name} `)))).toEqual([]);
  });

  it('would refuse a metric that is named against the conventions', () => {
    const counter = '# HELP gangway_calls Calls\n# TYPE gangway_calls counter\ngangway_calls 1\n';
    expect(promtool(['check', 'metrics'], counter).output).toContain('counter metrics should have "_total" suffix');
  });
});

function promtool(args: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}
