import { expect, it } from 'vitest';
import { createReports } from '../../../src/http/receiver/refusals.ts';
import { createAlerts } from '../../../src/lib/alerts.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';

function openRefusalLog() {
  const [clock, log, metrics] = [createFakeClock(), createLogLines(), createMetrics()];
  const unmatched: string[] = [];
  return {
    clock,
    log,
    metrics,
    unmatched,
    report: createReports({
      clock,
      logger: log.logger,
      metrics,
      alerts: createAlerts(log.logger, metrics),
      onUnmatched: (install) => void unmatched.push(install),
    }).refused,
  };
}

it('logs one line for 1,000 refusals in a minute, and their number a minute later', () => {
  const { clock, log, report } = openRefusalLog();
  for (let refusal = 0; refusal < 1000; refusal += 1) {
    report('acme', 'no_secret_matched');
    clock.advance(59);
  }
  expect(log.lines()).toMatchObject([{ install: 'acme', alsoRefused: 0 }]);
  clock.advance(60_000);
  report('acme', 'no_secret_matched');
  clock.advance(60_000);
  report('acme', 'no_secret_matched');
  expect(log.lines().map(({ alsoRefused }) => alsoRefused)).toEqual([0, 999, 0]);
});

it('logs a separate line for each install and reason', () => {
  const { log, report } = openRefusalLog();
  for (let round = 0; round < 3; round += 1) {
    report('acme', 'missing');
    report('acme', 'too_old');
    report('globex', 'missing');
    report('', 'missing');
  }
  expect(log.lines().map(({ install, reason }) => [install, reason])).toEqual([
    ['acme', 'missing'],
    ['acme', 'too_old'],
    ['globex', 'missing'],
    ['(unknown)', 'missing'],
  ]);
});

it('counts every refusal, logged or not', async () => {
  const { metrics, report } = openRefusalLog();
  for (let refusal = 0; refusal < 1000; refusal += 1) report('acme', 'missing');
  const { values } = await metrics.refusals.get();
  expect(values).toEqual([{ value: 1000, labels: { install: 'acme', reason: 'missing' } }]);
});

it('gives a hint at what may be wrong', () => {
  const { log, report } = openRefusalLog();
  report('acme', 'too_new');
  expect(log.lines()).toMatchObject([
    { level: 'warn', msg: 'A request was refused', hint: expect.stringContaining('clock') },
  ]);
});

it('reports unmatched signatures once a minute, and only for installs that exist', () => {
  const { clock, unmatched, report } = openRefusalLog();
  for (let refusal = 0; refusal < 1000; refusal += 1) {
    report('acme', 'no_secret_matched');
    report('acme', 'too_old');
    report('', 'no_secret_matched');
    clock.advance(59);
  }
  expect(unmatched).toEqual(['acme']);
  clock.advance(60_000);
  report('acme', 'no_secret_matched');
  report('globex', 'no_secret_matched');
  expect(unmatched).toEqual(['acme', 'acme', 'globex']);
});
