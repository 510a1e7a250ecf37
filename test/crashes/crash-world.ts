import { expect } from 'vitest';
import { acmeSecret, type BridgeSetup, openIdleMarketplace, writeBridgeConfig } from '../support/bridge-process.ts';
import type { BridgeState } from '../support/bridge-state.ts';
import { createFolder } from '../support/folder.ts';
import { type HttpTool, openHttpTool } from '../support/http-tool.ts';
import { toBody } from '../support/lifecycle-events.ts';
import { createSender } from '../support/sender.ts';
import { membersOf, projects, type Traffic } from '../support/traffic.ts';
import { until } from '../support/until.ts';
import { unbraked } from './crash-runs.ts';

/** A bridge's surroundings, which outlive it: a marketplace, and a tool that notes what is done to it. */
export interface CrashWorld {
  setup: BridgeSetup;
  tool: HttpTool;
  /** Hires some of those whom the traffic hires and ends too, under contracts that do not end, and waits for them. */
  hireForGood(url: string): Promise<void>;
  /** Everybody who was hired for good is in, and nobody of them was ever taken out. */
  expectKept(): void;
  /** What must be so in the end, when the traffic has stopped and some bridge runs. */
  expectRight(state: BridgeState, traffic: Pick<Traffic, 'answered'>): Promise<void>;
}

/** Of these the traffic begins and ends further contracts all the time. */
const forGood = Array.from({ length: 10 }, (_, index) => `usr${index}`);
/** Far from the numbers that the traffic gives. */
const firstNumber = 900_000_000;

export async function openCrashWorld(databaseUrl: string, changes: object = {}): Promise<CrashWorld> {
  const [marketplace, tool] = await Promise.all([openIdleMarketplace(), openHttpTool()]);
  const tools = { list: toToolSettings(tool) };
  const setup = writeBridgeConfig(createFolder(), databaseUrl, marketplace, { ...unbraked, tools, ...changes });
  const kept = projects.flatMap((project) => forGood.map((trainer) => `${project}/${trainer}`)).toSorted();
  /** Calls that were no use: somebody was in or out already. */
  const repeated: string[] = [];
  const mistaken: string[] = [];
  tool.before = ({ method, member }) => {
    const isIn = tool.has(member);
    if (method === 'DELETE' && kept.includes(member)) mistaken.push(member);
    if ((method === 'PUT' && isIn) || (method === 'DELETE' && !isIn)) repeated.push(`${method} ${member}`);
  };

  function expectKept(): void {
    expect(mistaken).toEqual([]);
    expect(kept.filter((member) => !tool.has(member))).toEqual([]);
  }

  return {
    setup,
    tool,
    async hireForGood(url) {
      const sender = createSender(acmeSecret, 1);
      for (const [index, member] of kept.entries()) {
        const [project = '', trainer = ''] = member.split('/');
        const number = firstNumber + index;
        const createdAt = new Date().toISOString();
        const hired = {
          type: 'contract.started',
          number,
          contract: `good${index}`,
          trainer,
          project,
          createdAt,
        } as const;
        expect(await sender.send(url, toBody(hired), `good-${index}`)).toMatchObject({ status: 200 });
      }
      const missing = () => kept.filter((member) => !tool.has(member));
      await until('those who are hired for good are in', missing, ({ length }) => length === 0);
    },
    expectKept,
    async expectRight(state, { answered }) {
      await state.settled();
      const stored = await state.stored();
      const bodies = new Set(stored.map(({ body }) => body));
      expect(stored).toHaveLength(bodies.size);
      expect([...answered].filter((body) => !bodies.has(body))).toEqual([]);
      expect(stored.filter(({ state: is }) => is !== 'handled')).toEqual([]);
      expectKept();
      expect(tool.members()).toEqual(membersOf(bodies));
      expect(repeated).toEqual([]);
    },
  };
}

export function toToolSettings({ url }: HttpTool): object {
  const item = { path: '/{group}/{trainerId}' };
  return {
    adapter: 'http',
    url,
    token: 'tool-token',
    offboarding: 'locks_out',
    member: { id: 'id', email: 'email' },
    requests: {
      check: { path: '/' },
      find: { ...item, items: '', absent: [404], pages: 'none' },
      add: { ...item, method: 'PUT', item: '' },
      remove: { path: '/{group}/{memberId}' },
    },
  };
}
