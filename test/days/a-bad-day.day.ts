import { expect, it, vi } from 'vitest';
import { openDayBridge } from '../support/bad-day/day-bridge.ts';
import { createDayLog } from '../support/bad-day/day-log.ts';
import { type OpenDayMarket, openSandbox, openSecond } from '../support/bad-day/day-market.ts';
import { createDayPeople } from '../support/bad-day/day-people.ts';
import { setPostgresClock } from '../support/bad-day/test-clock-on-postgres.ts';
import { type Dialect, postgres, sqlite } from '../support/databases.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createRandom } from '../support/random.ts';

/**
 * A day at the marketplace: of its events 30 % are lost, 20 % come twice and 20 % late; the endpoint
 * is disabled again and again, the token is revoked and the customer reconnects once. Nobody enables
 * the endpoint but the bridge itself. Each quarter of an hour the marketplace is read, and that is
 * what has to make up for it.
 */

const rests = vi.hoisted(() => ({ hasNoLongOnes: true }));

// The hours pass by the test's clock, and loops rest by the real one: they rest a tenth of the time.
vi.mock('node:timers/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:timers/promises')>();
  const setTimeout: typeof real.setTimeout = (ms = 0, ...rest) => {
    const restMs = Math.min(ms, Math.max(ms / 10, 5));
    return real.setTimeout(ms < 60_000 || rests.hasNoLongOnes ? restMs : 3_600_000, ...rest);
  };
  return { ...real, default: { ...real, setTimeout }, setTimeout };
});

const minute = 60_000;
const stepMs = 5 * minute;
const intervalMs = 15 * minute;
const graceMs = 15 * minute;
const lossy = { lost: 0.3, repeated: 0.2, reordered: 0.2 };

const atHour = (hour: number) => (hour * 60 * minute) / stepMs;

const moments = {
  unreachable: atHour(4),
  reachable: atHour(5),
  disabled: atHour(9),
  tokenRevoked: atHour(14),
  reconnected: atHour(15),
  evening: atHour(22),
  /** No two reads later everything is to be as it should. */
  midnight: atHour(24),
};

/** From the moment that a read can show it. */
const allowedMs = {
  hired: intervalMs,
  ended: intervalMs,
  // Two reads without the link, and the grace that everything weaker than an end has.
  linked: 2 * intervalMs + graceMs,
  // Who is on a contract is asked again after six hours, and once more before anybody is gone.
  replaced: 6 * 60 * minute + 2 * intervalMs + graceMs,
};

const markets: [string, OpenDayMarket, Dialect][] = [
  ['the second marketplace', openSecond, sqlite],
  ['the sandbox', openSandbox, sqlite],
  ['the second marketplace, on PostgreSQL', openSecond, postgres],
];

it.each(markets)(
  'ends with everybody where they belong, with %s',
  { timeout: 300_000 },
  async (_, openMarket, dialect) => {
    const clock = createFakeClock(new Date().toISOString());
    const market = await openMarket(clock, lossy);
    const dayLog = createDayLog(clock);
    const people = createDayPeople({ market, dayLog, random: createRandom(4), bridge: () => bridge });
    const { token } = market.connect();
    people.begin(15);
    const databaseUrl = await dialect.createMigrated();
    // PostgreSQL's clock is told the time when a bridge starts, and must not be asked in between: so
    // what is done once a minute is not done there. After the restart that counts as a silence.
    rests.hasNoLongOnes = dialect.name === 'sqlite';
    const tellTime = async () => {
      if (dialect.name === 'postgres') await setPostgresClock(databaseUrl, clock.now());
    };
    await tellTime();
    const bridge = await openDayBridge(databaseUrl, { market, clock, dayLog });
    await bridge.connect(token, people.jobsByProject);
    await bridge.reconcile();
    // The brake goes by those who have been in for an hour.
    await bridge.pass(65 * minute);
    await bridge.reconcile();
    expect(bridge.roster()).toEqual(dayLog.wanted());
    const statuses: Record<string, string> = {};

    async function operate(step: number): Promise<void> {
      if (step === moments.unreachable) bridge.setReachable(false);
      if (step === moments.reachable) {
        statuses['unreachable'] = await bridge.endpointStatus();
        bridge.setReachable(true);
      }
      if (step === moments.disabled) {
        statuses['reachable'] = await bridge.endpointStatus();
        await bridge.disableEndpoint();
      }
      if (step === moments.tokenRevoked) statuses['disabled'] = await bridge.endpointStatus();
      if (step === moments.tokenRevoked) {
        market.revokeToken();
        dayLog.setBlind(true);
      }
      if (step === moments.reconnected) {
        const { token: newToken } = market.connect();
        await market.settle();
        await tellTime();
        await bridge.connect(newToken, people.jobsByProject);
        dayLog.setBlind(false);
      }
    }

    for (let step = 1; step <= moments.midnight; step += 1) {
      await bridge.pass(stepMs);
      await operate(step);
      const isRevoked = step >= moments.tokenRevoked && step < moments.reconnected;
      if (step % 2 === 0 && step < moments.evening && !isRevoked) await people.happen();
      if (step % atHour(2) === 0 && step <= atHour(8)) people.replace();
      await bridge.quiet();
      if (step % (intervalMs / stepMs) === 0) await bridge.reconcile();
    }

    expect(statuses).toEqual({ unreachable: 'DISABLED', reachable: 'ACTIVE', disabled: 'ACTIVE' });
    const healed = bridge.log.lines().filter(({ alert }) => alert === 'endpoint_disabled');
    expect(healed).toHaveLength(3);
    expect(await bridge.endpointStatus()).toBe('ACTIVE');
    expect(bridge.roster()).toEqual(dayLog.wanted());
    expect(dayLog.wronglyRemoved(intervalMs + graceMs)).toEqual([]);
    expect(dayLog.keptTooLong(allowedMs)).toEqual([]);
    expect(dayLog.waitedTooLong(allowedMs)).toEqual([]);
    expect(await bridge.plans()).toBe(0);
    expect(dayLog.count(false)).toBeGreaterThan(30);
  },
);

it('does not take twice as long to notice that somebody was replaced', {
  timeout: 60_000,
}, async () => {
  const clock = createFakeClock(new Date().toISOString());
  const market = await openSecond(clock, { lost: 0, repeated: 0, reordered: 0 });
  const dayLog = createDayLog(clock);
  const people = createDayPeople({ market, dayLog, random: createRandom(4), bridge: () => bridge });
  const { token } = market.connect();
  people.begin(2);
  const bridge = await openDayBridge(await sqlite.createMigrated(), { market, clock, dayLog });
  await bridge.connect(token, people.jobsByProject);
  await bridge.reconcile();
  people.replace();
  for (let passedMs = 0; passedMs < allowedMs.replaced; passedMs += intervalMs) {
    await bridge.pass(intervalMs);
    await bridge.reconcile();
  }
  expect(bridge.roster()).toEqual(dayLog.wanted());
});
