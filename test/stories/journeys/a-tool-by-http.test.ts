import { expect, it } from 'vitest';
import { createAdapter, loadAdapter } from '../../../src/adapters/load-adapters.ts';
import { trackerFile } from '../../support/foreign-adapters.ts';
import { exampleSettings } from '../../support/http-tool-settings.ts';
import { openJourney } from '../../support/journey.ts';
import { openRestTool, type RestTool } from '../../support/rest-tool.ts';
import { describeAnyDialect } from '../../support/tries.ts';

const hourMs = 3_600_000;

const adapters = {
  http: async (tool: RestTool) => createAdapter('list', 'http', exampleSettings(tool)),
  'a file': ({ url, token }: RestTool) => loadAdapter('list', { adapter: trackerFile, settings: { url, token } }),
};

describeAnyDialect('a tool that is reached by HTTP', (dialect) => {
  it.each(Object.entries(adapters))('has the trainers who are hired, and no others, by %s', async (_name, open) => {
    const tool = await openRestTool();
    tool.seed('street-signs', 'employee@lab.example');
    const journey = await openJourney(dialect, { adapter: await open(tool), payloads: 'minimal' });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');

    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId, trainers: [{}, {}] });
    await journey.quiet();
    const emails = trainers.map(({ workEmail }) => String(workEmail).toLowerCase());
    const members = () => tool.members('street-signs').map((email) => email.toLowerCase());
    expect(members().sort()).toEqual([...emails, 'employee@lab.example'].sort());

    sandbox.endContract(contractId);
    await journey.quiet();
    expect(members()).toEqual(['employee@lab.example']);
    expect(await journey.memberships()).toMatchObject([{ state: 'removed' }, { state: 'removed' }]);
  });

  it('is asked again if it claims a change that it did not make', async () => {
    const tool = await openRestTool();
    const journey = await openJourney(dialect, { adapter: await adapters.http(tool) });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');
    tool.faults.begin('add', { does: 'swallows' });
    sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([{ state: 'pending' }]);

    tool.faults.end();
    await journey.pass(hourMs);
    expect(await journey.memberships()).toMatchObject([{ state: 'active', isOurs: true }]);
    expect(tool.members('street-signs')).toHaveLength(1);
  });

  it('is not asked again at once after a refusal, and its token is in no log', async () => {
    const tool = await openRestTool();
    const journey = await openJourney(dialect, { adapter: await adapters.http(tool) });
    const { sandbox, customer } = journey;
    await customer.link('street-signs');
    tool.faults.begin('any', { does: 'answers', status: 403 });
    sandbox.hire({ jobId: customer.jobId });
    const isLeftAlone = () =>
      journey.log.lines().some(({ msg }) => msg === 'The tool failed its check, so calls to it are paused');
    await expect.poll(isLeftAlone, { timeout: 10_000 }).toBe(true);
    await journey.sandbox.idle();
    // A call may still be under way that began before it was.
    const isAtWork = async () => (await journey.memberships()).some((one) => one.leaseToken !== null);
    await expect.poll(isAtWork, { timeout: 10_000 }).toBe(false);
    // New evidence has a refused one asked again, but no tool that is left alone before a probe.
    const before = (await journey.receipts()).length;
    sandbox.hire({ jobId: customer.jobId });
    const states = async () => (await journey.memberships()).map(({ state }) => state);
    await expect.poll(states, { timeout: 10_000 }).toHaveLength(2);
    await journey.sandbox.idle();
    expect(await journey.receipts()).toHaveLength(before);
    const receipts = await journey.storage.database.kysely.selectFrom('receipt').selectAll().execute();
    expect(JSON.stringify([receipts, journey.log.text()])).not.toContain(tool.token);
    expect(receipts[0]).toMatchObject({ outcome: 'refused', toolStatus: 403 });
  });

  /** The trainer who is hired stands on the second page, and the settings know of one. */
  async function openUnpaged(isSilent: boolean) {
    const tool = await openRestTool({ isSilent });
    for (const name of ['one', 'two']) tool.seed('street-signs', `${name}@lab.example`);
    const settings = exampleSettings(tool);
    const { find: _, findById: __, findAccount: ___, update: ____, ...others } = settings.requests;
    const list = { ...others['list'], pages: 'none' };
    const requests = { ...others, list };
    const adapter = createAdapter('list', 'http', { ...settings, requests });
    const journey = await openJourney(dialect, { adapter });
    await journey.customer.link('street-signs');
    const { contractId } = journey.sandbox.hire({ jobId: journey.customer.jobId });
    return { tool, journey, contractId };
  }

  it('proves no absence if the member may be on another page', async () => {
    const { tool, journey, contractId } = await openUnpaged(false);
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([{ state: 'failed' }]);
    journey.sandbox.endContract(contractId);
    await journey.quiet();
    const [left] = await journey.memberships();
    expect(left).toMatchObject({ state: 'failed', failure: expect.stringContaining('the list is incomplete') });
    expect(tool.members('street-signs')).toHaveLength(3);
    expect(new Set(await journey.receipts())).toEqual(new Set(['add refused', 'remove refused']));
  });

  it('removes a member by id though it never shows them', async () => {
    const { tool, journey, contractId } = await openUnpaged(true);
    await journey.quiet();
    expect(tool.members('street-signs')).toHaveLength(3);
    // What it does not show is not believed, whatever it said when it added them.
    expect(await journey.memberships()).toMatchObject([{ state: 'pending', memberId: '103' }]);
    journey.sandbox.endContract(contractId);
    await journey.quiet();
    expect(tool.members('street-signs')).toEqual(['one@lab.example', 'two@lab.example']);
    expect(await journey.memberships()).toMatchObject([{ state: 'removed' }]);
    expect((await journey.receipts()).at(-1)).toBe('remove removed');
  });
});
