import { beforeEach, describe, expect, it } from 'vitest';
import { openIdleMarketplace } from '../support/bridge-process.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { useBridge } from './bridge.ts';

const createdAt = new Date().toISOString();
const hired = fullEvent({ type: 'contract.started', createdAt });
const ended = fullEvent({ type: 'contract.ended', id: '7000000002', createdAt });

describe('gangway forget', () => {
  const workspace = useBridge(async () => ({ marketplace: { baseUrl: await openIdleMarketplace() } }));
  const run = (...argv: string[]) => workspace.run('forget', ...argv);

  beforeEach(() => workspace.receive(hired));

  it('deletes a person by address, and says how much', async () => {
    await workspace.receive(ended);
    const foreseen = await run('cmu1@opentrain.work', '--json');
    const counts = { trainerId: 'cmu1', people: 1, titles: 1, deliveries: 2, deliveriesLeft: 0 };
    expect(JSON.parse(foreseen.stdout)).toMatchObject({ ...counts, isCleared: false });
    const { status, stdout } = await run('cmu1@opentrain.work', '--yes');
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^cmu1: cleared at acme\n {2}names and addresses, one for each install: 1\n.*\n {2}stored deliveries: 2\n/,
    );
    expect(await workspace.runJson('members')).toMatchObject({
      items: [{ trainerId: 'cmu1', displayName: null, memberId: null, state: 'removed' }],
    });
  });

  it('needs --yes', async () => {
    await workspace.receive(ended);
    const { status, stdout } = await run('cmu1');
    expect([status, stdout]).toEqual([0, expect.stringContaining('Nothing was changed; --yes clears it')]);
    expect((await run('cmu1')).stdout).toBe(stdout);
  });

  it('is refused while the person is hired, and shows no address', async () => {
    expect(await run('cmu1@opentrain.work', '--yes')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'gangway: The trainer cmu1 is still needed (install acme: they have an active contract there (cmc1)): end the contract first, and try again when "gangway members" shows them as removed\n',
    });
    const unknown = await run('cmu1', '--install', 'globex', '--yes');
    expect(unknown.stderr).toBe('gangway: globex knows nothing of the trainer cmu1\n');
    const { stderr } = await run('unknown@opentrain.work', '--yes');
    expect(stderr).toBe('gangway: No person is known by the address u…@opentrain.work\n');
  });
});
