import { expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Dialect } from '../../support/databases.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { recordSpans } from '../../support/recorded-spans.ts';
import { openSite } from '../../support/site.ts';
import { describeAnyDialect } from '../../support/tries.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${spanId}-01`;
const minuteMs = 60_000;

async function openRestarted(dialect: Dialect) {
  const tool = createMemoryTool();
  const site = await openSite(dialect, ['acme']);
  const start = () => site.start({ tools: { studio: tool.adapter } });
  const event = (type: string) => {
    const createdAt = site.clock.now().toISOString();
    return fullEvent({ type, id: type, createdAt, workEmail: 'amara@opentrain.work' });
  };
  const contexts = async (bridge: Awaited<ReturnType<typeof start>>) => {
    const { kysely } = bridge.storage.database;
    const [delivery] = await kysely.selectFrom('delivery').select('traceContext').orderBy('id').execute();
    const [membership] = await kysely.selectFrom('membership').select('traceContext').orderBy('id').execute();
    return [delivery?.traceContext, membership?.traceContext];
  };
  return { tool, event, start, contexts };
}

describeAnyDialect('a delivery of a trace', (dialect) => {
  it('has its call to the tool in that trace, by another process after the tool was down', async () => {
    const spans = recordSpans();
    const { tool, event, start, contexts } = await openRestarted(dialect);
    tool.before = () => {
      throw new AppError('unavailable', 'The tool answered 503');
    };
    const bridge = await start();
    await bridge.deliver('acme', event('contract.started'), { traceparent });
    await bridge.quiet();
    expect(await bridge.memberships()).toEqual(['cmu1 pending']);
    const [delivered, derived] = await contexts(bridge);
    expect(delivered).toMatch(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-01$`));
    expect(derived).toBe(delivered);
    await bridge.stop();
    expect(spans.of(traceId).map(([name]) => name)).not.toContain('tool addMember');

    tool.before = () => undefined;
    const next = await start();
    await next.pass(5 * minuteMs);
    await next.quiet();
    expect(await next.memberships()).toEqual(['cmu1 active']);
    const receiving = 'POST /webhooks/{install}';
    const seen = spans.of(traceId);
    expect(seen).toContainEqual([receiving, spanId]);
    expect(seen).toContainEqual(['store delivery', receiving]);
    expect(seen).toContainEqual(['take in delivery', receiving]);
    expect(seen).toContainEqual(['converge membership', receiving]);
    expect(seen).toContainEqual(['tool addMember', 'converge membership']);
    expect(spans.attributes()).not.toMatch(/@|amara/i);
  });

  it('has a trace of its own where the sender names none, or none that is valid', async () => {
    const spans = recordSpans();
    const { tool, event, start, contexts } = await openRestarted(dialect);
    const bridge = await start();
    await bridge.deliver('acme', event('contract.started'), { traceparent: traceparent.toUpperCase() });
    await bridge.quiet();
    const [delivered] = await contexts(bridge);
    expect(delivered).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(delivered).not.toContain(traceId);
    expect(spans.of(delivered?.split('-')[1] ?? '').map(([name]) => name)).toContain('tool addMember');
    expect(tool.members('street-signs')).toEqual(['cmu1']);
  });

  it('is not written to by a stranger: a forged signature leaves no span', async () => {
    const spans = recordSpans();
    const { event, start } = await openRestarted(dialect);
    const bridge = await start();
    const forged = { traceparent, 'x-opentrain-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}` };
    expect(await bridge.deliver('acme', event('contract.started'), forged)).toMatchObject({ status: 401 });
    expect(spans.traceIds()).not.toContain(traceId);
  });

  it('keeps what the sender names where there is no SDK, and nothing else', async () => {
    const { event, start, contexts } = await openRestarted(dialect);
    const bridge = await start();
    await bridge.deliver('acme', event('contract.started'), { traceparent });
    await bridge.quiet();
    expect(await contexts(bridge)).toEqual([traceparent, traceparent]);
    await bridge.deliver('acme', event('contract.ended'));
    await bridge.quiet();
    expect((await contexts(bridge))[1]).toBeNull();
  });
});
