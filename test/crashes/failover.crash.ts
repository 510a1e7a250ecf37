import { describe, expect, it } from 'vitest';
import { startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { type BridgeState, openBridgeState } from '../support/bridge-state.ts';
import { createFolder } from '../support/folder.ts';
import { type HttpTool, openHttpTool } from '../support/http-tool.ts';
import { openReplicatedPostgres } from '../support/postgres-server.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { type CrashMarket, openCrashMarket } from './crash-market.ts';
import { kills, limitMs, seed, tell, unbraked } from './crash-runs.ts';
import { toToolSettings } from './crash-world.ts';

const failovers = Math.ceil(kills / 20);
/** Longer than the replica lags. */
const loadMs = 4000;
/** The domain of everybody whom the marketplace hires. */
const managed = { managedDomains: ['opentrain.work'] };

describe(`after a failover to a PostgreSQL replica that lags by a second (seed ${seed})`, () => {
  it(
    `lost deliveries are made up for by readings, ${failovers} times`,
    async () => {
      const random = createRandom(seed);
      for (let count = 0; count < failovers; count += 1) {
        const { market, tool, lost, forgotten, expectDone } = await failOverUnderLoad(random, managed);
        const wrong = () => differences(tool, market, forgotten);
        await until('everybody is where they belong', wrong, ({ length }) => length === 0);
        await market.live(random, loadMs);
        market.endOthers();
        await until('the others are out', wrong, ({ length }) => length === 0);
        await expectDone();
        tell(
          `failover: of ${market.delivered().length} deliveries ${lost} were lost, ${forgotten.length} people forgotten`,
        );
      }
    },
    limitMs,
  );

  it(
    'people whose access was forgotten stay in, unless a managed domain says they are ours',
    async () => {
      const { market, tool, state, forgotten, expectDone } = await failOverUnderLoad(createRandom(seed), {});
      await until(
        'everybody who belongs there is in',
        () => missingOf(tool, market),
        ({ length }) => length === 0,
      );
      market.endOthers();
      const unexplained = async () => {
        const memberships = await listMemberships(state);
        const released = memberships.filter((row) => row.state === 'released').map(({ member }) => member);
        const strangers = strangersOf(tool, market, [...forgotten, ...released]);
        return strangers.map((member) => ({ ...memberships.find((row) => row.member === member), member }));
      };
      await until('the others are out or released', unexplained, ({ length }) => length === 0);
      await expectDone();
      const [{ length: left }, { length: all }] = [strangersOf(tool, market, forgotten), strangersOf(tool, market, [])];
      tell(`failover without a managed domain: ${left} were left in, ${all - left} forgotten`);
    },
    limitMs,
  );
});

/** People come and go until the server dies. The deliveries of the last second are lost, and never sent again. */
async function failOverUnderLoad(random: () => number, more: object) {
  const [server, tool, market] = await Promise.all([openReplicatedPostgres(), openHttpTool(), openCrashMarket()]);
  const { baseUrl, token, secret } = market;
  const setup = writeBridgeConfig(createFolder(), server.databaseUrl, baseUrl, {
    ...unbraked,
    marketplace: { baseUrl, ...more },
    installs: { acme: { token, webhookSecrets: [secret], tool: 'list', projects: ['*'] } },
    tools: { list: toToolSettings(tool) },
  });
  tool.before = ({ method, member }) => void (method === 'DELETE' && market.noteRemoval(member));
  const bridge = await startBridge(setup);
  market.deliverTo(new URL(bridge.url).origin);
  market.hireForGood();
  await until(
    'those who are hired for good are in',
    () => differences(tool, market, []),
    ({ length }) => length === 0,
  );
  const before = openBridgeState(server.databaseUrl);
  await before.settled();
  // The brake counts only people who have been in for an hour.
  const createdAt = new Date(Date.now() - 2 * 3_600_000).toISOString();
  await before.database.kysely.updateTable('receipt').set({ createdAt }).execute();

  await market.live(random, loadMs);
  await server.failOver();
  const state = openBridgeState(server.databaseUrl);
  const stored = new Set((await state.stored()).map(({ body }) => body));
  const lost = market.delivered().filter((body) => !stored.has(body)).length;
  expect(lost).toBeGreaterThan(0);
  const wasRead = () => {
    const [, ...since] = bridge.log().slice(bridge.log().findIndex(({ wasPutBack }) => wasPutBack === true));
    return since.some(({ msg }) => msg === 'An install was read');
  };
  await until('the failover was noticed, and the marketplace was read', wasRead, (was) => was);
  const listKnown = async () => (await listMemberships(state)).filter((row) => row.state !== 'removed');
  const listUnread = async () => {
    const known = new Set((await listKnown()).map(({ member }) => member));
    return market.wanted().filter((member) => !known.has(member));
  };
  await until('everybody who was read has a row', listUnread, ({ length }) => length === 0);
  // People who were hired and ended within the lost second: no row says that they were let in, and no list that they must go.
  const known = (await listKnown()).map(({ member }) => member);
  const forgotten = strangersOf(tool, market, known);
  return {
    market,
    tool,
    state,
    lost,
    forgotten,
    async expectDone() {
      await state.settled();
      expect((await state.stored()).filter(({ state: is }) => is !== 'handled')).toEqual([]);
      expect(market.mistaken()).toEqual([]);
      expect(await bridge.stop()).toBe(0);
    },
  };
}

async function listMemberships({ database: { kysely } }: BridgeState): Promise<{ member: string; state: string }[]> {
  const rows = await kysely.selectFrom('membership').select(['groupId', 'trainerId', 'state']).execute();
  return rows.map(({ groupId, trainerId, state }) => ({ member: `${groupId}/${trainerId}`, state }));
}

/** People who are in but do not belong there (`+`), unless they may stay, and people who belong there but are not in (`-`). */
function differences(tool: HttpTool, market: CrashMarket, mayStay: readonly string[]): string[] {
  const strangers = strangersOf(tool, market, mayStay).map((member) => `+${member}`);
  return [...strangers, ...missingOf(tool, market).map((member) => `-${member}`)];
}

function strangersOf(tool: HttpTool, market: CrashMarket, mayStay: readonly string[]): string[] {
  const explained = new Set([...market.wanted(), ...mayStay]);
  return tool.members().filter((member) => !explained.has(member));
}

function missingOf(tool: HttpTool, market: CrashMarket): string[] {
  return market.wanted().filter((member) => !tool.has(member));
}
