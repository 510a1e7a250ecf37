import { expect, it, vi } from 'vitest';
import type { WantedFaults } from '../../src/sandbox/faults/faults-schema.ts';
import { describeEachDialect } from '../support/databases.ts';
import { type EmployerJourney, openEmployerJourney, readEveryMs } from '../support/employer-journey.ts';
import { createRandom } from '../support/random.ts';

/**
 * A day of an employer's own account, minute by minute. Of the deliveries 30 % are lost, 20 % come twice and 20 % late;
 * pages of the feed and lists of contracts fail, come by half or empty. For a while nothing is delivered at all, for a
 * while the token is refused, and twice the place in the feed is lost. Half of the ends have no event.
 */

const rests = vi.hoisted(() => ({ share: 10 }));

// The hours pass by the test's clock, and loops rest by the real one: they rest a tenth of the time.
vi.mock('node:timers/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:timers/promises')>();
  const setTimeout: typeof real.setTimeout = (ms = 0, ...rest) =>
    real.setTimeout(Math.min(ms, Math.max(ms / rests.share, 5)), ...rest);
  return { ...real, default: { ...real, setTimeout }, setTimeout };
});

const minuteMs = 60_000;
const stepMinutes = 2;
/** Without faults a hire takes half a minute, and an end without an event four minutes. */
const allowedMinutes = 16;
/** The brake does not count on people who came in the last hour, so that no one leaves before. */
const beginning = { people: 40, minutes: 62 };

const moments = { refused: 120, good: 160, undelivered: 200, delivered: 240, evening: 300, midnight: 330 };

const deliveries: WantedFaults = { lose: 0.3, repeat: 0.2, reorder: 0.2 };
const pages: WantedFaults = {
  serverError: { probability: 0.05, operations: ['GET /updates', 'GET /contracts'] },
  cutOff: { probability: 0.05, operations: ['GET /updates', 'GET /contracts/{id}'] },
  truncated: { probability: 0.1, operations: ['GET /updates', 'GET /contracts'] },
  empty: { probability: 0.05, operations: ['GET /updates', 'GET /contracts'] },
};
const usual = { ...deliveries, ...pages };

interface Hired {
  contractId: string;
  /** Project and trainer. */
  place: string;
  since: number;
  endedAt: number | null;
}

describeEachDialect("a bad day of an employer's own account", (dialect) => {
  it('takes no one out who is hired, and leaves no one in for longer than it takes to notice', async () => {
    const journey = await openEmployerJourney(dialect, {
      isReachable: true,
      // The brake has tests of its own: here it would hold what goes by readings alone.
      removals: { max: 1000, maxFraction: 1 },
    });
    const hired: Hired[] = [];
    const happening = { hired, random: createRandom(17) };
    for (let count = 0; count < beginning.people; count += 1) hire(journey, happening, 0);
    await journey.pass(readEveryMs);
    await journey.live(beginning.minutes * minuteMs);
    expect(placesIn(journey)).toEqual(new Set(hired.map(({ place }) => place)));

    let before = placesIn(journey);
    for (let minute = beginning.minutes; minute < moments.midnight; minute += stepMinutes) {
      await meddle(journey, minute);
      const isSighted = minute < moments.refused || minute >= moments.good;
      if (isSighted && minute < moments.evening) await happen(journey, happening, minute);
      await journey.live(stepMinutes * minuteMs);
      const present = placesIn(journey);
      expect(findRemovedWrongly(hired, before, present)).toEqual([]);
      if (isSighted) expect(findLate(hired, present, minute)).toEqual([]);
      before = present;
    }

    const active = hired.filter(({ endedAt }) => endedAt === null).map(({ place }) => place);
    expect([...before].sort()).toEqual(active.sort());
    expect(hired.length - active.length).toBeGreaterThan(15);
  });
});

function placesIn({ roster }: EmployerJourney): Set<string> {
  return new Set(Object.entries(roster()).flatMap(([project, ids]) => ids.map((id) => `${project} ${id}`)));
}

function findRemovedWrongly(hired: readonly Hired[], before: ReadonlySet<string>, present: ReadonlySet<string>) {
  return hired.filter(({ place, endedAt }) => endedAt === null && before.has(place) && !present.has(place));
}

/** Who is not where they belong although there was time. While nothing could be read the time did not run. */
function findLate(hired: readonly Hired[], present: ReadonlySet<string>, minute: number): Hired[] {
  const sightedSince = minute >= moments.good ? moments.good : 0;
  return hired.filter(({ place, since, endedAt }) => {
    const changedAt = Math.max(endedAt ?? since, sightedSince);
    return minute - changedAt > allowedMinutes && present.has(place) !== (endedAt === null);
  });
}

async function meddle({ sandbox, accountId, storage }: EmployerJourney, minute: number): Promise<void> {
  const setCursor = (cursor: string | null) => storage.database.kysely.updateTable('feed').set({ cursor }).execute();
  switch (minute) {
    case beginning.minutes:
    case moments.good:
      sandbox.setFaults(accountId, usual);
      break;
    case moments.refused:
      sandbox.setFaults(accountId, { ...deliveries, unauthenticated: 1 });
      break;
    case moments.undelivered:
      await setCursor(null);
      sandbox.setFaults(accountId, { ...pages, lose: 1 });
      break;
    case moments.delivered:
      await setCursor('of another time');
      sandbox.setFaults(accountId, usual);
      break;
    case moments.evening:
      sandbox.setFaults(accountId);
      break;
    default:
  }
}

interface Happening {
  hired: Hired[];
  random(): number;
}

function hire({ sandbox, signs, lamps }: EmployerJourney, { hired, random }: Happening, minute: number): void {
  const { id: jobId, project } = random() < 0.5 ? signs : lamps;
  const { contractId, trainers } = sandbox.hire({ jobId });
  hired.push({ contractId, place: `${project} ${trainers[0]?.opentrainUserId}`, since: minute, endedAt: null });
}

/** Now and then a person is hired, and now and then a contract ends: by itself, or by an approval. */
async function happen(journey: EmployerJourney, { hired, random }: Happening, minute: number): Promise<void> {
  const { sandbox, askForEnd } = journey;
  if (random() < 0.3) hire(journey, { hired, random }, minute);
  if (random() >= 0.3) return;
  const active = hired.filter(({ endedAt }) => endedAt === null);
  const one = active[Math.floor(random() * active.length)];
  if (one === undefined) return;
  if (random() < 0.5) sandbox.endContract(one.contractId);
  else sandbox.resolveApproval(await askForEnd(one.contractId), 'confirmed');
  one.endedAt = minute;
}
