import { expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { liveThrough, openJourney } from '../../support/journey.ts';
import { type ContractEvent, toBody } from '../../support/lifecycle-events.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const outageMinutes = 60;
const concurrency = 8;
/** In a row, and the tool is left alone; those that are under way by then may still fail. */
const failuresUntilLeftAlone = 5;

describeAnyDialect('a tool that is down for an hour', (dialect) => {
  it('gets only single probes, and has all members right soon after it is back', async () => {
    const tool = createProbedTool();
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    const early = names('early', 4);
    for (const name of early) await journey.deliver(hired(name));
    await journey.quiet();
    expect(tool.members('signs')).toEqual(early);

    tool.goDown();
    for (let minute = 0; minute < outageMinutes; minute += 1) {
      const ends = minute < 3 ? [ended(`early${minute}`)] : [];
      const hire = hired(`late${minute}`);
      for (const event of [hire, ...ends]) {
        const answer = await journey.deliver(event);
        expect(answer).toMatchObject({ status: 200, body: { status: 'accepted' } });
        await takenIn(journey.memberships, early.length + minute + 1);
      }
      await liveThrough(journey.storage, journey.clock, minuteMs);
    }
    const { tries, probes, mostProbesAtOnce } = tool.seen();
    expect(tries).toBeGreaterThanOrEqual(failuresUntilLeftAlone);
    expect(tries).toBeLessThan(failuresUntilLeftAlone + concurrency);
    expect(probes).toBeGreaterThan(10);
    // However much comes in, there is one a minute: so long does it wait by then.
    expect(probes).toBeLessThan(1.2 * outageMinutes);
    expect(mostProbesAtOnce).toBe(1);
    expect(tool.members('signs')).toEqual(early);

    tool.comeBack();
    await journey.pass(minuteMs);
    const late = names('late', outageMinutes);
    expect(tool.members('signs')).toEqual(['early3', ...late].sort());
    // Each is called about as if nothing had been: look, change, read back.
    expect(tool.seen().tries).toBe(3 * (late.length + 3));
    expect(tool.seen().probes).toBeLessThanOrEqual(1);
    expect(tool.mostAtOnce()).toBeLessThanOrEqual(concurrency);
    const states = (await journey.memberships()).map(({ state }) => state);
    expect(states.filter((state) => state === 'active')).toHaveLength(late.length + 1);
    expect(states.filter((state) => state === 'removed')).toHaveLength(3);
  });
});

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

let number = 0;

function toEvent(type: ContractEvent['type'], trainer: string): string {
  number += 1;
  const createdAt = new Date().toISOString();
  return toBody({ type, number, contract: trainer, trainer, project: 'signs', createdAt });
}

function hired(trainer: string): string {
  return toEvent('contract.started', trainer);
}

function ended(trainer: string): string {
  return toEvent('contract.ended', trainer);
}

async function takenIn(memberships: () => Promise<unknown[]>, count: number): Promise<void> {
  const look = async () => (await memberships()).length;
  await until('the delivery is taken in', look, (seen) => seen === count);
}

interface ProbedTool extends MemoryTool {
  goDown(): void;
  comeBack(): void;
  /** Since it went down or came back: calls about people, and probes. */
  seen(): { tries: number; probes: number; mostProbesAtOnce: number };
}

/** Down, it answers after a moment that it is. */
function createProbedTool(): ProbedTool {
  const tool = createMemoryTool();
  let isDown = false;
  let [probes, underway, mostProbesAtOnce] = [0, 0, 0];

  async function answer(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (isDown) throw new AppError('unavailable', 'The tool answered 503', { status: 503 });
  }

  function turn(next: boolean): void {
    isDown = next;
    [probes, mostProbesAtOnce] = [0, 0];
    tool.calls.length = 0;
  }

  tool.before = answer;
  return {
    ...tool,
    goDown: () => turn(true),
    comeBack: () => turn(false),
    seen: () => ({ tries: tool.calls.length, probes, mostProbesAtOnce }),
    adapter: {
      ...tool.adapter,
      async check() {
        probes += 1;
        underway += 1;
        mostProbesAtOnce = Math.max(mostProbesAtOnce, underway);
        await answer().finally(() => {
          underway -= 1;
        });
        return [];
      },
    },
  };
}
