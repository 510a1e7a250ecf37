import { expect, it } from 'vitest';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { newDelivery } from '../../support/deliveries.ts';
import { type ContractEvent, toBody } from '../../support/lifecycle-events.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { openSite, type SiteBridge } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const crowd = 100;
const concurrency = 8;
const warmUp = 60;
const installs = { acme: { projects: ['acme-*'] }, globex: { projects: ['globex-*'] } };

describeAnyDialect('installs that share a tool', (dialect) => {
  it('do not wait for each other: a hundred hires of one, and a single one of the other', async () => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({ installs, tools: { studio: tool.adapter } });
    const count = async () => (await bridge.memberships()).length;
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    await keepUp(tool, bridge);
    tool.before = () => opened;
    await appendDeliveries(
      bridge.storage,
      Array.from({ length: crowd }, (_, number) => newDelivery(hired('acme', number))),
    );
    await until('all of one are due', count, (due) => due === warmUp + crowd);
    await until(
      'it has its half of the slots',
      () => tool.calls.length,
      (calls) => calls === concurrency / 2,
    );

    await bridge.deliver('globex', hired('globex', crowd));
    await until(
      'the other is called before any of these calls has ended',
      () => tool.calls,
      (calls) => calls.some(isOfGlobex),
    );
    expect(tool.calls).toHaveLength(concurrency / 2 + 1);
    open();
    await bridge.quiet();
    // On a busy machine a call may have been given up while it was held here.
    site.clock.advance(60_000);
    await bridge.quiet();
    expect(tool.members('acme-signs')).toHaveLength(warmUp + crowd);
    expect(tool.members('globex-signs')).toHaveLength(1);
    expect(tool.mostAtOnce()).toBeLessThanOrEqual(concurrency);
  });

  it('get half of it each while both have much to do', async () => {
    const tool = createMemoryTool();
    const site = await openSite(dialect, ['acme', 'globex']);
    const bridge = await site.start({ installs, tools: { studio: tool.adapter } });
    const count = async () => (await bridge.memberships()).length;
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    tool.before = async () => {
      await opened;
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const deliveries = (install: 'acme' | 'globex', first: number, count: number) =>
      Array.from({ length: count }, (_, index) => newDelivery(hired(install, first + index), { install }));
    const [larger, smaller] = [120, 40];
    await appendDeliveries(bridge.storage, deliveries('acme', 0, larger));
    await appendDeliveries(bridge.storage, deliveries('globex', larger, smaller));
    await until('all are due', count, (due) => due === larger + smaller);
    open();
    await until(
      'the smaller is done',
      () => tool.members('globex-signs').length,
      (added) => added === smaller,
    );
    const ofAcme = tool.members('acme-signs').length;
    expect(ofAcme).toBeGreaterThan(smaller - 2 * concurrency);
    expect(ofAcme).toBeLessThan(smaller + 2 * concurrency);
    await bridge.quiet();
    expect(tool.members('acme-signs')).toHaveLength(larger);
  });
});

/** Until it keeps up, it is not asked as much at once as it may be. */
async function keepUp(tool: MemoryTool, bridge: SiteBridge): Promise<void> {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  tool.before = () => opened;
  await appendDeliveries(
    bridge.storage,
    Array.from({ length: warmUp }, (_, number) => newDelivery(hired('acme', 1000 + number))),
  );
  await until(
    'all of them are due',
    () => bridge.memberships(),
    ({ length }) => length === warmUp,
  );
  open();
  await until(
    'it keeps up',
    () => tool.members('acme-signs').length,
    (members) => members === warmUp,
  );
  await bridge.quiet();
  tool.calls.length = 0;
}

function hired(install: string, number: number): string {
  const event: ContractEvent = {
    type: 'contract.started',
    number,
    contract: `ctr${number}`,
    trainer: `usr${number}`,
    project: `${install}-signs`,
    createdAt: new Date().toISOString(),
  };
  return toBody(event);
}

function isOfGlobex(call: string): boolean {
  return call.includes('globex-signs');
}
