import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addDays } from '../../src/lib/add-days.ts';
import { createApiClient } from '../support/api-client.ts';
import { sqlite } from '../support/databases.ts';
import { openJourney } from '../support/journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';
import { createWorkingTool } from '../support/working-tool.ts';

beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
afterEach(() => void vi.unstubAllEnvs());

/** Three hours before the contract began, which are held, and two on the day since. */
async function openHeldWork() {
  const tool = createWorkingTool();
  const journey = await openJourney(sqlite, { adapter: tool.adapter, piiConsent: true });
  const { sandbox, customer, quiet, clock, consoleUrl, pass } = journey;
  await customer.link('street-signs');
  const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
  const trainerId = trainers[0]?.opentrainUserId ?? '';
  await quiet();
  const day = clock.now().toISOString().slice(0, 10);
  const before = addDays(day, -1);
  tool.work(before, trainerId, 3);
  tool.work(day, trainerId, 2);
  const remote = async (...argv: string[]) => {
    await pass(1000);
    return await runCommand(...argv, '--remote', consoleUrl);
  };
  const ask = async (...argv: string[]) => {
    const { status, stdout, stderr } = await remote(...argv, '--json');
    return { status, stderr, said: JSON.parse(stdout || '{}') };
  };
  const report = async () => (await ask('usage', 'report')).said.installs[0];
  const check = async (...argv: string[]) => {
    const { status, said } = await ask('usage', 'check', ...argv);
    return [status, ...said.days.map((one: { day: string; why: string | null }) => `${one.day} ${one.why}`)];
  };
  expect(await report()).toMatchObject({ outcome: 'held', sent: 1, held: 1 });
  return { ...journey, tool, day, before, contractId, trainerId, remote, ask, report, check };
}

describe('usage check --remote', () => {
  it('says what the instance finds, and ends with 2 where something is not paid', async () => {
    const { ask, remote, check, consoleUrl, before, day, contractId, trainerId } = await openHeldWork();
    const { status, said } = await ask('usage', 'check');
    expect(status).toBe(2);
    expect(said).toEqual(await createApiClient(consoleUrl, 'vera').ask('usageCheck'));
    expect(said).toMatchObject({
      sums: [{ install: 'acme', days: 2, differing: 1, seen: { seconds: 5 * 3600 }, answered: { seconds: 2 * 3600 } }],
      days: [{ contractId, trainerId, day: before, why: 'held', reason: 'before_start' }],
      left: 0,
    });
    expect((await remote('usage', 'check')).stdout).toMatch(
      /before the contract began[\s\S]+\nacme +2 +1 +5 +3 +2 +2\n$/,
    );
    expect(await check('--all')).toEqual([2, `${day} null`, `${before} held`]);
    expect(await check('--from', day, '--contract', contractId)).toEqual([0]);
    expect(await remote('usage', 'check', '--contract', 'none')).toMatchObject({ status: 1 });
    expect(await remote('usage', 'check', '--install', 'none')).toMatchObject({ status: 1 });
  });

  it('has the instance work everything out anew, and says that it differed', async () => {
    const { ask, remote, storage } = await openHeldWork();
    expect(await ask('usage', 'recount')).toMatchObject({ status: 0, said: { trainers: 0, days: 0 } });
    await storage.database.kysely.deleteFrom('usageDue').execute();
    const { status, stdout } = await remote('usage', 'recount');
    expect([status, stdout]).toEqual([
      2,
      expect.stringContaining('1 day of 1 trainer did not follow from the sources'),
    ]);
  });
});

describe('usage held --remote', () => {
  it('assigns, takes back and discards held work, and lists what was decided', async () => {
    const { ask, remote, report, check, before, contractId } = await openHeldWork();
    const held = async (...argv: string[]) =>
      (await ask('usage', 'held', ...argv)).said.held.map((one: { state: string }) => one.state);
    const [{ id }] = (await ask('usage', 'held')).said.held;
    const assigned = await remote('usage', 'assign', id, contractId);
    expect(assigned).toMatchObject({ status: 0, stdout: expect.stringContaining(`assigned to ${contractId}`) });
    expect([await held(), await held('--decided')]).toEqual([[], ['assigned']]);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 1 });
    expect(await check()).toEqual([0]);
    expect(await remote('usage', 'take-back', id)).toMatchObject({ status: 0 });
    expect(await held()).toEqual(['held']);
    expect(await remote('usage', 'discard', id)).toMatchObject({ status: 0 });
    expect([await held(), await held('--decided')]).toEqual([[], ['discarded']]);
    expect(await check()).toEqual([0, `${before} discarded`]);
    vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.vera.token);
    expect(await remote('usage', 'take-back', id)).toMatchObject({ status: 1 });
  });

  it('says why work cannot be assigned, and changes nothing', async () => {
    const { tool, ask, remote, report, day, trainerId, contractId } = await openHeldWork();
    tool.work(day, trainerId, 30);
    await report();
    const long = (await ask('usage', 'held')).said.held.find((one: { day: string }) => one.day === day);
    const refused = await remote('usage', 'assign', long.id, contractId);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('more than 24 hours in one day') });
    expect((await ask('usage', 'held', '--decided')).said.held).toEqual([]);
    expect((await ask('usage', 'held')).said.held).toHaveLength(2);
  });

  it('sends or dismisses what changed after its day was sent for the last time', async () => {
    const { tool, ask, remote, report, check, storage, clock, day, trainerId } = await openHeldWork();
    const closedAt = clock.now().toISOString();
    await storage.database.kysely.updateTable('usageLedger').set({ closedAt }).execute();
    tool.work(day, trainerId, 2.5);
    expect(await report()).toMatchObject({ sent: 0 });
    const { late } = (await ask('usage', 'held')).said;
    expect(late).toMatchObject([{ day, trainerId, from: { seconds: 7200 }, to: { seconds: 9000 } }]);
    const [{ id }] = late;
    const trouble = { kind: 'usage_late', install: 'acme', count: 1, detail: `0.5 hours, the oldest of ${day}` };
    expect((await ask('status')).said.troubles).toContainEqual(expect.objectContaining(trouble));
    expect(await remote('usage', 'dismiss', id)).toMatchObject({ status: 0 });
    expect(await check('--from', day)).toEqual([0, `${day} dismissed`]);
    expect(await remote('usage', 'send', id)).toMatchObject({ status: 0 });
    expect(await report()).toMatchObject({ sent: 1 });
    expect(await check('--from', day)).toEqual([0]);
    const unknown = await remote('usage', 'send', `gw-${'0'.repeat(32)}`);
    expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('No late change is called') });
  });
});
