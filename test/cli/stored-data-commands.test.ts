import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { toInstantText } from '../../src/domain/marketplace-text.ts';
import { postponeDelivery } from '../../src/inbox/inbox-store.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { minutesAgo } from '../support/lifecycle-events.ts';
import { useBridge } from './bridge.ts';

const hostileName = '\u001b[31mEvil\u001b[0m\u0007 \u202eEve\nsecond line';

const createdAt = minutesAgo(1);
const hired = fullEvent({ type: 'contract.started', createdAt, displayName: hostileName });
const waiting = fullEvent({
  type: 'contract.started',
  contract: 'cmc2',
  trainer: 'cmu2',
  link: 'cml2',
  createdAt,
  project: 'lamps',
  workEmail: null,
  displayName: 'Bru\u202eno S.',
});
const unread = '{"type": "contract.started"}';

describe('commands about what is stored', () => {
  const workspace = useBridge();
  const { run, runJson, runOk } = workspace;

  beforeEach(() => workspace.receive(hired, '{"type": "payout.sent"}', unread));

  function expectPlain(text: string): void {
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  }

  it('tables fit 80 columns, with whole ids and no milliseconds', async () => {
    const digits = '0123456789'.repeat(2);
    const [contract, trainer] = [`cmc${digits}`, `cmu${digits}`];
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt, contract, trainer }));
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const failure = 'answered 403: the token may not change the members of this project';
      await kysely.updateTable('membership').set({ failure }).execute();
      await kysely.updateTable('delivery').set({ failure }).execute();
    });
    const { stdout } = process;
    const { columns } = stdout;
    onTestFinished(() => {
      stdout.columns = columns;
    });
    stdout.columns = 80;
    const shown = new Map<string, string>();
    // What needs the operator is sentences, and not a table.
    await workspace.pretendRunning();
    for (const words of ['members', 'contracts', 'deliveries', 'installs', 'status']) {
      const { stdout: text } = await run(words);
      const lines = text.split('\n').filter((line) => !line.includes('→'));
      expect({ words, tooLong: lines.filter(({ length }) => length > 80) }).toEqual({ words, tooLong: [] });
      expect(text).not.toMatch(/:\d\d\.\d+Z/);
      shown.set(words, text.replace(/\s+/g, ' '));
    }
    expect(shown.get('members')).toContain(` ${trainer} `);
    expect(shown.get('members')).toContain('may not change the members of this project');
    expect(shown.get('contracts')).toContain(` ${contract} `);
    expect(shown.get('deliveries')).toMatch(/ \d+ (s|min) /);
  });

  it('members lists who belongs where', async () => {
    const { status, stdout } = await run('members');
    expect(status).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^name +trainer +group +tool +state +since +next +reason +problem +membership$/);
    expect(lines[1]).toMatch(/^\[31mEvil \[0m +Eve second line +cmu1 +street-signs +list +active .* 1$/);
    expectPlain(stdout);
    expect(await runJson('members')).toEqual({
      next: null,
      items: [
        {
          tool: 'list',
          groupId: 'street-signs',
          trainerId: 'cmu1',
          memberId: 'cmu1',
          doubtedId: null,
          displayName: expect.stringContaining('Evil'),
          wanted: true,
          state: 'active',
          attempts: 0,
          nextAttemptAt: null,
          failure: null,
          updatedAt: expect.any(String),
          id: 1,
          install: 'acme',
          cause: null,
          removeAfter: null,
        },
      ],
    });
  });

  it('members filters', async () => {
    await workspace.receive(waiting);
    const shown = async (...options: string[]) => {
      const { items } = await runJson('members', ...options);
      return items.map(({ state }: { state: string }) => state);
    };
    expect(await shown()).toEqual(['waiting_email', 'active']);
    expect(await shown('waiting')).toEqual(['waiting_email']);
    expect(await shown('--state', 'active')).toEqual(['active']);
    expect(await shown('--tool', 'list', '--limit', '1')).toHaveLength(1);
    const { stdout } = await run('members', 'waiting');
    expect(stdout).toContain('lamps');
    expectPlain(stdout);
    expect(await runOk('members', '--state', 'failed')).toBe('No memberships match.\n');
  });

  it('deliveries list shows the newest first', async () => {
    const { stdout } = await run('deliveries', 'list');
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^delivery +received +install +type +about +state +tries +problem$/);
    expect(lines[1]).toMatch(/^3 .+ acme +contract\.started .*unprocessable +0 +the event names no/);
    expect(lines[2]).toMatch(/^2 .+ acme +payout\.sent .*ignored +0$/);
    expect(lines[3]).toMatch(/^1 .+ acme +contract\.started .*handled +0$/);
    const { items } = await runJson('deliveries', 'list', '--state', 'handled');
    expect(items).toMatchObject([
      {
        id: 1,
        install: 'acme',
        deliveryId: 'dlv-0',
        eventType: 'contract.started',
        state: 'handled',
        attempts: 0,
        failure: null,
        bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        headers: expect.any(Object),
      },
    ]);
    const limited = await runJson('deliveries', 'list', '--limit', '2');
    expect(limited).toMatchObject({ items: [{ id: 3 }, { id: 2 }] });
  });

  it('deliveries show shows one delivery, who it is about, and its body without addresses', async () => {
    const { status, stdout } = await run('deliveries', 'show', '1');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^state +handled$/m);
    expect(stdout).toMatch(/^failure +-$/m);
    const shown = await runJson('deliveries', 'show', '1');
    expect(shown).toMatchObject({ id: 1, state: 'handled', contractId: 'cmc1', trainerId: 'cmu1', bodyProblem: null });
    expect(toInstantText(shown.receivedAt)).toBe(shown.receivedAt);
    expect(JSON.stringify(shown) + stdout).not.toMatch(/\w\w@opentrain/);
  });

  it('deliveries body prints the received body, and nothing else', async () => {
    const raw = (id: string) => run('deliveries', 'body', id);
    expect(await raw('1')).toEqual({ status: 0, stdout: hired, stderr: '' });
    expect(await raw('3')).toEqual({ status: 0, stdout: unread, stderr: '' });
    const stderr = 'gangway: The body was not kept: nothing uses events of this type\n';
    expect(await raw('2')).toEqual({ status: 1, stdout: '', stderr });
    expect(await raw('99')).toEqual({ status: 1, stdout: '', stderr: 'gangway: There is no delivery 99\n' });
    const { body } = await runJson('deliveries', 'body', '1');
    expect(Buffer.from(body, 'base64').toString()).toBe(hired);
  });

  it('members shows no address that a tool or a stranger put into a text', async () => {
    const address = 'amara.o@opentrain.work';
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely
        .updateTable('membership')
        .set({ memberId: address, failure: `no seat for ${address}` })
        .execute();
      await kysely.updateTable('person').set({ displayName: address }).execute();
    });
    const json = await runJson('members');
    expect((await runOk('members')) + JSON.stringify(json)).not.toContain('amara.o');
    expect(json).toMatchObject({ items: [{ memberId: 'a…@opentrain.work' }] });
  });

  it.each(['99', '250000', '999999999999999'])('deliveries show says that there is no %s', async (id) => {
    const stderr = `gangway: There is no delivery ${id}\n`;
    expect(await run('deliveries', 'show', id)).toEqual({ status: 1, stdout: '', stderr });
  });

  it('deliveries replay handles them again', async () => {
    expect(await runOk('deliveries', 'replay', '1', '3')).toBe('2 will be handled again.\n');
    const listed = (state: string) => runJson('deliveries', 'list', '--state', state);
    expect(await listed('pending')).toMatchObject({ items: [{ id: 3 }, { id: 1 }] });
    await workspace.receive();
    expect(await listed('handled')).toMatchObject({ items: [{ id: 1 }] });
    expect(await listed('unprocessable')).toMatchObject({ items: [{ id: 3 }] });
  });

  it('deliveries replay says how many it did not change', async () => {
    expect(await runOk('deliveries', 'replay', '1', '2')).toMatch(
      /^1 will be handled again\. 1 cannot be: .*not kept\.\n$/,
    );
  });

  it('deliveries replay changes nothing if a number is unknown', async () => {
    const stderr = 'gangway: There is no delivery 250000\n';
    expect(await run('deliveries', 'replay', '1', '250000')).toEqual({ status: 1, stdout: '', stderr });
    expect(await runJson('deliveries', 'list', '--state', 'pending')).toEqual({ items: [], next: null });
  });

  it('deliveries replay --failed handles what Gangway gave up on', async () => {
    expect(await runJson('deliveries', 'replay', '--failed')).toEqual({ replayed: [], left: [], act: null });
    await workspace.withStorage((ctx) => postponeDelivery(ctx, 1, 'given up', null));
    const { stdout } = await run('deliveries', 'list', '--state', 'failed');
    expect(stdout).toMatch(/^1 .+ failed +1 +given up$/m);
    expect(await runJson('deliveries', 'replay', '--failed')).toMatchObject({ replayed: [1] });
    await workspace.receive();
    expect(await runJson('deliveries', 'show', '1')).toMatchObject({ state: 'handled' });
  });
});

describe('gangway migrate', () => {
  const { run, runJson, runOk } = useBridge();

  it('creates the tables, and then has nothing to do', async () => {
    expect(await runJson('migrate')).toEqual({ migrated: ['0001-initial', '0002-hires'] });
    expect(await run('migrate', '--json')).toMatchObject({ status: 0, stdout: '{"migrated":[]}\n' });
    expect(await runOk('migrate')).toBe('The database is up to date.\n');
  });

  it('names the migrations that it ran', async () => {
    expect(await runOk('migrate')).toMatch(/^(Ran \d{4}-[a-z-]+\.\n)+$/);
  });
});
