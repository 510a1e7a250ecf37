import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { copyFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStorage } from '../../../src/app/storage.ts';
import { fillDatabase } from '../../../src/db/copy-database.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { openDatabase } from '../../../src/db/open-database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { readBackup, readHeader, writeBackup } from '../../../src/keys/backup-file.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { sqlite } from '../../support/databases.ts';
import { newDelivery } from '../../support/deliveries.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { openSite, type Site, type SiteBridge } from '../../support/site.ts';
import { countTroublesIn } from '../../support/troubles.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const noServer = 'http://127.0.0.1:9/api/partner/v1';

describe("yesterday's database, restored", () => {
  it.each([
    ['after a silence that it notices by itself', { dayMs: 22 * hourMs, unheardMs: hourMs }, false],
    ['soon after, by what lies beside it', { dayMs: 20 * minuteMs, unheardMs: 0 }, false],
    ['soon after, where the operator says so', { dayMs: 20 * minuteMs, unheardMs: 10 * minuteMs }, true],
    ['soon after, by gangway backup and restore', { dayMs: 20 * minuteMs, unheardMs: 0, byCommand: true }, false],
  ])('is not acted on before the marketplace was asked: %s', async (_when, day, isRestored) => {
    const { site, tool, start, expectRight } = await putBackYesterdays(day);
    const wasAsked = watchForList();
    const early: string[] = [];
    tool.before = (call, subject) => void (wasAsked() || early.push(`${call} ${subject}`));
    const bridge = await start({ isRestored });
    await bridge.quiet();
    expect(early).toEqual([]);
    expect(site.log.lines().some(isRead)).toBe(true);
    expect(tool.calls.filter((call) => call.startsWith('add')).sort()).toEqual([
      'add lamps/hired-unheard',
      'add signs/hired-unheard',
    ]);
    expect(tool.calls.filter((call) => call.startsWith('remove')).sort()).toEqual([
      'remove lamps/ended-unheard',
      'remove signs/ended-unheard',
    ]);
    await expectRight(['goes', 'joined', 'stays', 'hired-unheard']);
  });

  it('is not acted on while the marketplace does not answer, but new deliveries are', async () => {
    const { site, tool, hands, start, expectRight } = await putBackYesterdays();
    const cut = await start({ marketplaceUrl: noServer });
    hands.end('goes');
    await until(
      'the marketplace is asked before that',
      () => findWaiting(cut, 'signs'),
      (waiting) => waiting.includes('goes'),
    );
    site.clock.advance(30_000);
    await until('who ends now is out', () => tool.members('signs').join(), lacks('goes'));
    for (const fresh of ['fresh1', 'fresh2', 'fresh3']) {
      const tries = await countReads(cut);
      await cut.pass(hourMs);
      hands.hire(fresh);
      await until('who is hired now is in', () => tool.members('signs').join(), has(fresh));
      await until(
        'it was asked once more',
        () => countReads(cut),
        (seen) => seen > tries,
      );
    }
    await cut.stop();
    expect(tool.calls.filter((call) => !/fresh|goes/.test(call))).toEqual([]);

    // What is held stays held over another start; by then another try is due.
    site.clock.advance(hourMs);
    const bridge = await start();
    await bridge.quiet();
    await expectRight(['fresh1', 'fresh2', 'fresh3', 'joined', 'stays', 'hired-unheard']);
  });
});

describe('a database copied beside a running bridge, and restored', () => {
  const wereIn = 'members_undecided 2';

  it.each([
    ['with its log: nothing is lost, and nothing is shown', 'backup', [], ['added2']],
    ['without its log: members of the lost time are listed as undecided', 'bare copy', [wereIn], ['added1', 'added2']],
    ['as a new, empty database: all members are listed as undecided', 'nothing', [wereIn], ['added1', 'added2']],
  ])('%s', async (_what, copied, needed, left) => {
    const site = await openSite(sqlite, ['acme']);
    const [tool, hands, file] = [createMemoryTool(), createHands(site), fileOf(site)];
    const start = (isMoved = false) =>
      site.start({ tools: { studio: tool.adapter }, removals: { max: 1000, maxFraction: 1 }, isMoved });
    const needs = async ({ storage }: SiteBridge) => {
      const troubles = await countTroublesIn({ ...storage, clock: site.clock });
      return troubles.filter((one) => one.startsWith('members_'));
    };
    const first = await start();
    await site.customer('acme').link('signs');
    await first.quiet();
    // Everything since then is in the log alone.
    await copyTo(first, `${file}.bare copy`);
    for (const name of ['added1', 'added2']) hands.hire(name);
    await first.quiet();
    await copyTo(first, `${file}.backup`);
    await first.stop();
    for (const rest of ['', '-wal', '-shm']) rmSync(`${file}${rest}`, { force: true });
    if (copied !== 'nothing') copyFileSync(`${file}.${copied}`, file);

    site.clock.advance(5 * minuteMs);
    if (copied !== 'nothing') await expect(start()).rejects.toThrow(/is a copy.*start --move/);
    const second = await start(true);
    // As the schedule would.
    const { database } = second.storage;
    await inTransaction(database, (tx) => wantRead(tx, ['acme'], site.clock.now().toISOString()));
    await second.quiet();
    expect([await needs(second), tool.members('signs')]).toEqual([needed, ['added1', 'added2']]);
    hands.end('added1');
    await second.quiet();
    await second.pass(2 * minuteMs);
    expect(tool.members('signs')).toEqual(left);
    const isKnown = needed.length === 0;
    expect(await needs(second)).toEqual(isKnown ? [] : ['members_left_in 1', oneOf(wereIn)]);
  });
});

async function copyTo({ storage }: SiteBridge, file: string): Promise<void> {
  await sql`vacuum into ${file}`.execute(storage.database.kysely);
}

function oneOf(many: string): string {
  return many.replace('2', '1');
}

/**
 * A day in the life of a bridge whose database is then set back to that day's beginning. What lies
 * in that copy is wrong by now in every way there is: people who were in and have left, people it was
 * about to add and who were let go, a delivery that was not looked at yet, and a link that is gone
 * and was made anew before that had taken effect. Of the last of it no event has come at all.
 */
async function putBackYesterdays({
  dayMs = 22 * hourMs,
  unheardMs = hourMs,
  byCommand = false,
}: {
  dayMs?: number;
  unheardMs?: number;
  byCommand?: boolean;
} = {}) {
  const site = await openSite(sqlite, ['acme']);
  const tool = createMemoryTool();
  const hands = createHands(site);
  const start = (more: { marketplaceUrl?: string; isRestored?: boolean } = {}) =>
    site.start({
      tools: { studio: tool.adapter },
      removals: { max: 1000, maxFraction: 1 },
      managedDomains: ['opentrain.work'],
      ...more,
    });

  const first = await start();
  await site.customer('acme').link('signs');
  const lamps = await site.customer('acme').link('lamps');
  for (const name of ['stays', 'leaves', 'goes', 'ended-unheard']) hands.hire(name);
  await first.quiet();
  // The brake counts those who are in for longer than an hour.
  await first.pass(hourMs + minuteMs);
  await first.quiet();
  tool.before = (call) => {
    if (call === 'add') throw new AppError('unavailable', 'The tool answered 503');
  };
  hands.hire('waits');
  await first.quiet();
  await site.customer('acme').unlink(lamps);
  await first.quiet();
  await first.stop();
  tool.before = () => undefined;
  await storeUnseen(site, () => hands.hire('stored'));
  const putBack = byCommand ? await backUp(site) : copyAside(site);

  const second = await start();
  site.clock.advance(5 * minuteMs);
  await site.customer('acme').link('lamps');
  await second.quiet();
  hands.hire('joined');
  for (const name of ['leaves', 'waits', 'stored']) hands.end(name);
  await second.quiet();
  site.clock.advance(dayMs);
  await second.quiet();
  await second.stop();
  expect(tool.members('signs')).toEqual(['ended-unheard', 'goes', 'joined', 'stays']);
  expect(tool.members('lamps')).toEqual(['ended-unheard', 'goes', 'joined', 'stays']);

  hands.hire('hired-unheard');
  hands.end('ended-unheard');
  await site.sandbox.idle();
  site.clock.advance(unheardMs);
  await putBack();
  tool.calls.length = 0;

  async function expectRight(names: string[]): Promise<void> {
    expect(tool.members('signs')).toEqual(names.toSorted());
    expect(tool.members('lamps')).toEqual(names.toSorted());
    // A member can also be taken out whose addition only the lost database remembers.
    hands.end('joined');
    await until('who ends is out', () => tool.members('signs').join(), lacks('joined'));
  }

  return { site, tool, hands, start, expectRight };
}

/** Hires and ends by name. */
function createHands({ sandbox, customer }: Site) {
  const contracts = new Map<string, string>();
  return {
    hire(name: string): void {
      const trainers = [{ opentrainUserId: name, workEmail: `${name}@opentrain.work` }];
      const { jobId } = customer('acme');
      contracts.set(name, sandbox.hire({ jobId, trainers }).contractId);
    },
    end(name: string): void {
      sandbox.endContract(contracts.get(name) ?? '');
    },
  };
}

/** As if it had been stored and then the power had failed. */
async function storeUnseen({ sandbox, clock, databaseUrl }: Site, happen: () => void) {
  const known = sandbox.listDeliveries().length;
  happen();
  await sandbox.idle();
  const bodies = sandbox.listDeliveries().slice(known);
  expect(bodies.length).toBeGreaterThan(0);
  const storage = await openStorage(databaseUrl);
  const receivedAt = clock.now().toISOString();
  await appendDeliveries(
    storage,
    bodies.map(({ body }) => newDelivery(body, { receivedAt })),
  );
  await storage.database.close();
}

function fileOf({ databaseUrl }: Site): string {
  return databaseUrl.slice('sqlite:'.length);
}

function copyAside(site: Site): () => Promise<void> {
  copyDatabase(site, '', '.yesterday');
  return async () => copyDatabase(site, '.yesterday', '');
}

/** @returns what fills a new database, as after the loss of a disk. Only the key is kept elsewhere */
async function backUp(site: Site): Promise<() => Promise<void>> {
  const backup = `${fileOf(site)}.yesterday`;
  const { database, box } = await openStorage(site.databaseUrl);
  await writeBackup(backup, { database, box, madeAt: toInstant(site.clock.now()) }, () => undefined);
  await database.close();
  return async () => {
    for (const rest of ['', '-wal', '-shm', '.alive', '-alive']) rmSync(`${fileOf(site)}${rest}`, { force: true });
    const lost = openDatabase(site.databaseUrl);
    const { migrations } = await readHeader(backup);
    await fillDatabase(lost, migrations, (insert) => readBackup(backup, box, insert));
    await lost.close();
  };
}

function copyDatabase(site: Site, from: string, to: string): void {
  const file = fileOf(site);
  for (const rest of ['-wal', '-shm']) rmSync(`${file}${to}${rest}`, { force: true });
  for (const part of [file, `${file}.key`]) copyFileSync(`${part}${from}`, `${part}${to}`);
}

/** Who is to leave because of an explicit end and waits for readings. */
async function findWaiting({ storage }: SiteBridge, groupId: string): Promise<string[]> {
  const rows = await storage.database.kysely
    .selectFrom('awaitedReading')
    .innerJoin('membership', 'membership.id', 'awaitedReading.membershipId')
    .select('trainerId')
    .where('isExplicit', '=', true)
    .where('groupId', '=', groupId)
    .execute();
  return rows.map(({ trainerId }) => trainerId);
}

async function countReads({ storage }: SiteBridge): Promise<number> {
  const reads = storage.database.kysely.selectFrom('job').select('attempts').where('kind', '=', 'reconcile');
  return (await reads.executeTakeFirst())?.attempts ?? 0;
}

/** @returns whether the marketplace has answered since now which contracts are active */
function watchForList(): () => boolean {
  let isAnswered = false;
  const note = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    isAnswered ||= /\/contracts\?.*status=active/.test(request.url ?? '');
  };
  subscribe('http.server.response.finish', note);
  onTestFinished(() => void unsubscribe('http.server.response.finish', note));
  return () => isAnswered;
}

function isRead({ msg }: Record<string, unknown>): boolean {
  return msg === 'An install was read';
}

function has(name: string): (seen: string) => boolean {
  return (seen) => seen.split(',').includes(name);
}

function lacks(name: string): (seen: string) => boolean {
  return (seen) => !seen.split(',').includes(name);
}
