import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Install } from '../../src/domain/install.ts';
import { listInstalls } from '../../src/operations/status.ts';
import { wantRead } from '../../src/reconcile/read/install-state-store.ts';
import { noteSubscriptionCheck } from '../../src/subscription/subscription-store.ts';
import { convergeDue, createStudioWorker } from '../support/converging.ts';
import { openForTest } from '../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDialect } from '../support/tries.ts';
import { troublesIn } from '../support/troubles.ts';
import { until } from '../support/until.ts';

const at = '2026-03-15T12:00:00.000Z';
const install = { livesIn: 'configuration', tool: 'studio', projects: ['*'] } as unknown as Install;
const installs = new Map([
  ['acme', install],
  ['beta', { ...install, tool: 'other' }],
]);

describeAnyDialect('the troubles of a customer', (dialect) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(openForTest(await dialect.createMigrated()));
  });

  const hire = (change: object = {}) =>
    engine.apply([fullEvent({ type: 'contract.started', createdAt: at, ...change })]);

  async function troubles(): Promise<Record<string, string[]>> {
    const listed = await listInstalls(engine, installs, await troublesIn(engine, installs));
    return Object.fromEntries(listed.map((one) => [one.install, one.troubles]));
  }

  it('were missing while its tool was down and none of its people could get in', async () => {
    const tool = createMemoryTool();
    const fail = () => {
      throw new AppError('unavailable', 'The tool did not answer within 5000 ms');
    };
    tool.before = fail;
    tool.adapter.check = async () => fail();
    for (const number of [1, 2, 3, 4, 5]) await hire({ contract: `c${number}`, trainer: `t${number}` });
    startLoops(createStudioWorker(engine, tool));
    const down = await until('it is seen', troubles, ({ acme = [] }) => acme.length > 0);
    expect(down).toEqual({
      acme: [
        expect.stringMatching(
          /^Tool “studio” is not answering. 5 trainers cannot get in. The tool did not answer within/,
        ),
      ],
      beta: [],
    });
  });

  it('cover the marketplace, the endpoint, and people who are refused or have no address', async () => {
    const tool = createMemoryTool();
    tool.before = () => {
      throw new AppError('invalid', 'The tool refused the member');
    };
    await hire();
    await convergeDue(engine, tool);
    await hire({ contract: 'cmc2', trainer: 'cmu2', workEmail: null });
    const trouble = { says: 'the endpoint of acme is disabled', action: 'enable it' };
    await noteSubscriptionCheck(engine, 'acme', at, trouble);
    await inTransaction(engine.database, (tx) => wantRead(tx, ['acme'], at));
    const failed = { failure: 'The marketplace answered 401', attempts: 1 };
    await engine.database.kysely.updateTable('job').set(failed).execute();
    expect(await troubles()).toEqual({
      acme: [
        'Gangway cannot read acme from the marketplace. The marketplace answered 401',
        'Webhooks of acme may not arrive. the endpoint of acme is disabled',
        'Tool “studio” refuses 1 trainer of acme.',
        '1 trainer of acme has no work email.',
      ],
      beta: [],
    });
  });
});
