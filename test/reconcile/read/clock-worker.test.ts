import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/db/cut-back-store.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { tables } from '../../../src/db/schema.ts';
import { raiseSetting, writeSetting } from '../../../src/db/setting-store.ts';
import type { ContractEvidence, GrantEvidence } from '../../../src/domain/evidence.ts';
import { revokedGrant, statusOfContract } from '../../../src/domain/evidence-status.ts';
import { jobOf } from '../../../src/jobs/job.ts';
import { claimJob, wantJobs } from '../../../src/jobs/job-store.ts';
import { instantIn } from '../../../src/lib/clock.ts';
import { mendAfterSetBack } from '../../../src/reconcile/read/clock-worker.ts';
import { findInstallState } from '../../../src/reconcile/read/install-state-store.ts';
import { type Engine, inStudio } from '../../support/engine-harness.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const days = 24 * hours;
const links = { cml1: 'signs' };
const listing = { links, active: { con1: { links: ['cml1'], people: ['cara'] } } };
const person = { contract: 'con1', trainer: 'cara', link: 'cml1', project: 'signs' };

describeAnyDatabase('a time from the future', (openFresh) => {
  /** As the next start of a bridge finds it, or its next look at the clock. */
  async function lookAtClock(engine: Engine): Promise<boolean> {
    const ctx = { ...engine, installs: new Map([['acme', inStudio()]]) };
    return await mendAfterSetBack(ctx, engine.clock.now().getTime());
  }

  /** Reads while two days ahead, then the clock is right again. */
  async function openAfter(read: (incident: Incident) => Promise<void>): Promise<Incident> {
    const incident = createIncident(await openFresh());
    const { clock } = incident.engine;
    await lookAtClock(incident.engine);
    clock.advance(2 * days);
    await lookAtClock(incident.engine);
    await read(incident);
    clock.advance(1 * minutes - 2 * days);
    return incident;
  }

  it('is cut back in every column that holds an instant, unless the schema says why not', () => {
    const isInstant = /^(at|since|absences|omissions)$|(At|Until|After|Since|From|Date|Version)$/;
    const unsaid = Object.entries(tables).flatMap(([table, { columns }]) =>
      Object.entries(columns).flatMap(([name, { facts }]) =>
        isInstant.test(name) && facts.ahead === undefined ? [`${table}.${name}`] : [],
      ),
    );
    // A number, and two lists.
    expect(unsaid.sort()).toEqual(['delivery.readerVersion', 'subscription.enabledAt', 'usageLedger.loweredFrom']);
  });

  it('is cut back to the present in every table', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    const { kysely } = incident.engine.database;
    const now = incident.engine.clock.now().toISOString();
    const ahead = new Date(Date.parse(now) + 2 * days).toISOString();
    const everywhere = async (say: (table: string, column: string) => Promise<unknown>) => {
      for (const [table, columns] of columnsOf('now')) {
        for (const column of columns) await say(table, column);
      }
    };
    await everywhere((table, column) =>
      sql`update ${sql.table(table)} set ${sql.ref(column)} = ${ahead}`.execute(kysely),
    );
    expect(await lookAtClock(incident.engine)).toBe(true);
    await everywhere(async (table, column) => {
      const left = sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} > ${now}`;
      expect([table, column, (await left.execute(kysely)).rows]).toEqual([table, column, []]);
    });
    expect(await incident.alerts('clock_set_back')).toBe(1);
    expect(await lookAtClock(incident.engine)).toBe(false);
  });

  it('disputes no end that is delivered after it', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    await incident.take('contract.ended', person);
    expect(incident.removals()).toEqual([]);
    const status = async () => statusOfContract((await incident.engine.rows('contract'))[0] as ContractEvidence);
    expect(await status()).toBe('disputed');
    await lookAtClock(incident.engine);
    expect(await status()).toBe('ended');
    // Not before the install was read: the reading may have been the later one.
    await incident.settle();
    expect(await incident.states()).toEqual({ 'signs/cara': 'active' });
    await incident.read({ links });
    expect(await incident.states()).toEqual({ 'signs/cara': 'removed' });
  });

  it('delays no end that comes in after it is cut back', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    await lookAtClock(incident.engine);
    await incident.read(listing);
    await incident.event('contract.ended', person);
    expect(await incident.states()).toEqual({ 'signs/cara': 'removed' });
  });

  it('gives back no grant that was revoked after it', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    await incident.take('install.revoked', { link: 'cmi1' });
    await lookAtClock(incident.engine);
    const grants = (await incident.engine.rows('installGrant')) as GrantEvidence[];
    expect(revokedGrant(grants)).not.toBeNull();
  });

  it('outweighs nothing that is learned of a person later, and is no absence', async () => {
    const incident = await openAfter(async (ahead) => {
      await ahead.read(listing);
      ahead.engine.clock.advance(7 * hours);
      const others = { con1: { links: ['cml1'], people: ['dora'] } };
      await ahead.read({ links, active: others });
      ahead.engine.clock.advance(-7 * hours);
    });
    await lookAtClock(incident.engine);
    const participations = (await incident.engine.rows('participation')) as { absences: string }[];
    expect(participations.map(({ absences }) => absences)).toEqual([null, null]);
    const versions = async () =>
      ((await incident.engine.rows('person')) as { workEmailVersion: string }[]).map(
        ({ workEmailVersion }) => workEmailVersion <= `1:${incident.engine.clock.now().toISOString()}`,
      );
    expect(await versions()).toEqual([true, true]);
  });

  it('delays no lease and no schedule', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    const { database, clock } = incident.engine;
    const ahead = instantIn(clock, 2 * days);
    await inTransaction(database, async (tx) => {
      await wantJobs(tx, 'schedule', [jobOf('')], ahead);
      await tx.updateTable('job').set({ leasedUntil: ahead }).execute();
    });
    await lookAtClock(incident.engine);
    clock.advance(10 * minutes);
    const now = clock.now().toISOString();
    const lease = { now, leasedUntil: instantIn(clock, 30_000) };
    expect(await claimJob(incident.engine, 'reconcile', 'acme', lease)).not.toBeNull();
    expect(await claimJob(incident.engine, 'schedule', '', lease)).not.toBeNull();
  });

  it('stopped the nightly recount of due work until that day came', async () => {
    const incident = await openAfter((ahead) => ahead.read(listing));
    const { database, clock } = incident.engine;
    const [tomorrow, recounted] = [days, 2 * days].map((ms) => instantIn(clock, ms).slice(0, 10)) as [string, string];
    await inTransaction(database, (tx) => writeSetting(tx, 'usage_recounted_at', recounted));
    await lookAtClock(incident.engine);
    const isDue = await inTransaction(database, (tx) => raiseSetting(tx, 'usage_recounted_at', tomorrow));
    expect(isDue).toBe(true);
  });

  it('is not looked for while the clock goes on as it should', async () => {
    const incident = createIncident(await openFresh());
    const { clock } = incident.engine;
    await incident.read(listing);
    expect(await lookAtClock(incident.engine)).toBe(false);
    // As clocks are put right all the time.
    clock.advance(-59_000);
    expect(await lookAtClock(incident.engine)).toBe(false);
    expect((await findInstallState(incident.engine, 'acme'))?.heldSince).toBeNull();
  });
});
