import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hasPostponed } from '../../src/memberships/derivation-store.ts';
import { listMemberships } from '../../src/memberships/membership-list-store.ts';
import { openIdleMarketplace } from '../support/bridge-process.ts';
import { type EventWish, fullEvent } from '../support/event-bodies.ts';
import { readRoster } from '../support/roster.ts';
import { startCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

const hostile = '\u001b[31mEvil\u001b[0m\u0007 \u202eEve\nsecond line';
const hostileAddress = `${hostile} second@line.example`;

/** Old events give no trainer access, and the bridge looks at the real time. */
function recent(wish: EventWish): string {
  return fullEvent({ createdAt: new Date(Date.now() - 60_000).toISOString(), ...wish });
}

const numbers = [1, 2, 3];
const hire = (number: number, wish: Partial<EventWish> = {}) =>
  recent({ type: 'contract.started', id: `${number}`, contract: `cmc${number}`, trainer: `cmu${number}`, ...wish });
const unlink = () => recent({ type: 'project_link.removed', id: '90' });

describe('commands of an operator', () => {
  const workspace = useBridge(() => ({ removals: { grace: '0s' } }));
  const { changeConfig, config, run, runJson, runOk } = workspace;

  async function expectRefused(message: string, ...argv: string[]): Promise<void> {
    expect(await run(...argv)).toEqual({ status: 1, stdout: '', stderr: `gangway: ${message}\n` });
  }

  const hireAll = () => workspace.receive(...numbers.map((number) => hire(number)));
  const roster = () => readRoster(workspace.rosterFile);

  /** Stores names of strangers with the characters that are stripped when they arrive. */
  async function nameHostilely(): Promise<void> {
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('person').set({ displayName: hostileAddress }).execute();
      await kysely.updateTable('contract').set({ title: hostile }).execute();
      await kysely.updateTable('link').set({ externalProjectId: hostile }).execute();
      await kysely.updateTable('membership').set({ groupId: hostile, failure: hostileAddress }).execute();
    });
  }

  /** Whether the marketplace was asked for the budget by then is left to chance. */
  function withoutBudget(explained: string): string {
    return `${explained.split('The budget of contract')[0]?.trimEnd()}\n`;
  }

  function expectPlain(text: string): void {
    expect(text).toContain('Evil');
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
    expect(text).not.toContain('second@');
  }

  /** Holds the removal of all trainers in a plan. */
  async function holdAll(): Promise<void> {
    await hireAll();
    await workspace.receive(unlink());
    await workspace.whileRunning(async () => {
      await workspace.withStorage(async ({ database }) => {
        const list = () => listMemberships(database.kysely, { limit: 10 });
        await until('all are held', list, (seen) => seen.every(({ state }) => state === 'held'));
      });
    });
  }

  /** Runs the bridge until nothing is left to do. */
  const act = () =>
    workspace.whileRunning(() =>
      workspace.withStorage(async (ctx) => {
        const countLeft = async () => {
          const moving = ctx.database.kysely
            .selectFrom('membership')
            .select('id')
            .where((eb) => eb.or([eb('nextAttemptAt', 'is not', null), eb('removeAfter', 'is not', null)]));
          return Number(await hasPostponed(ctx)) + (await moving.execute()).length;
        };
        await until('nothing is left to do', countLeft, (left) => left === 0);
      }),
    );

  it('lists what is stored of a removed install', async () => {
    await holdAll();
    changeConfig({ installs: {} });
    expect(await runOk('plans', 'list', '--install', 'acme')).toContain('acme');
    expect(await runOk('contracts', 'list', '--install', 'acme')).toContain('acme');
  });

  describe('status', () => {
    it('says that nothing needs the operator in a new database', async () => {
      await workspace.pretendRunning();
      expect(await runOk('status')).toMatch(
        /^Nothing needs you\.\n\nInstances\nname +version .*\nhost\/1 +0\.1\.0 +running .*\n$/,
      );
    });

    it('counts memberships and events', async () => {
      await hireAll();
      await workspace.pretendRunning();
      const text = await runOk('status', '--since', '30m');
      expect(text).toMatch(/^Nothing needs you\.\n\nInstances\nname .*\nhost\/1 .* running .*\n\nMemberships now\n/);
      expect(text).toMatch(/\ntool +state +count\nlist +active +3\n/);
      expect(text).toMatch(/\n\nDeliveries since \S+Z\ninstall +state +count\nacme +handled +3\n/);
      expect(text).toMatch(/\n\nDone in the tools since \S+Z\ntool +outcome +count\nlist +added +3\n/);
      expect(text).toMatch(/\nFrom hired to access +\d+\.\d s · \d+\.\d s .* 3\n/);
      expect(await runJson('status')).toEqual({
        since: expect.stringMatching(/Z$/),
        installs: [expect.objectContaining({ install: 'acme', readAt: null, troubles: [] })],
        plans: [],
        budgets: [],
        troubles: [],
        lowered: [],
        instances: ['running', 'stopped'].map((state) => expect.objectContaining({ state })),
        memberships: [{ tool: 'list', state: 'active', count: 3 }],
        deliveries: [{ install: 'acme', state: 'handled', count: 3 }],
        receipts: [{ tool: 'list', outcome: 'added', count: 3 }],
        removals: [],
        times: [{ what: 'access', day: expect.objectContaining({ count: 3 }), month: expect.any(Object) }],
      });
      expect(await runOk('status', '--since', '0m')).not.toContain('Deliveries since');
    });

    it("prints the marketplace's texts on one line", async () => {
      await workspace.withStorage(async ({ database: { kysely } }) => {
        await kysely.insertInto('installState').values({ install: 'acme' }).execute();
        const job = { kind: 'reconcile', key: 'acme', install: 'acme', failure: hostile, dueAt: '9999' };
        await kysely.insertInto('job').values(job).execute();
      });
      const text = await runOk('status');
      expectPlain(text);
      expect(text).toMatch(/Gangway cannot read acme from the marketplace\.\n +Evil Eve/);
      expect(text).toMatch(/\nRead from the marketplace\ninstall +last read +trouble\nacme +never +Evil/);
    });
  });

  describe('explain', () => {
    it.each([['cmu1'], ['cmc1'], ['CMU1@opentrain.work']])(
      'takes every step for "%s", and shows no address',
      async (subject) => {
        await hireAll();
        const text = withoutBudget(await runOk('explain', subject));
        expect(text.split('\n')).toEqual([
          'cmu1 (Amara O.), by contract cmc1 of acme',
          '  yes  install     acme is connected',
          '  yes  contract    The contract is active',
          '  yes  person      Amara O. is on the contract',
          '  yes  link        The job is linked to project street-signs',
          '  yes  address     Work email known, at opentrain.work',
          '  yes  membership  Active in street-signs of list',
          '  To do: Nothing. They can sign in',
          '',
        ]);
        const json = await runJson('explain', subject);
        expect(json).toMatchObject({ explanations: [{ trainerId: 'cmu1', contractId: 'cmc1' }] });
        expect(text + JSON.stringify(json)).not.toMatch(/cmu1@/i);
      },
    );

    it('says that there is no such trainer or contract, without repeating an address', async () => {
      await hireAll();
      await expectRefused('No trainer or contract matches "cmu9"', 'explain', 'cmu9');
      const { stderr } = await run('explain', 'unknown@opentrain.work', '--json');
      expect(stderr).toMatch(/^\{"error":"No trainer or contract matches/);
      expect(stderr).not.toContain('unknown@');
    });

    it("prints strangers' names on one line", async () => {
      await hireAll();
      await nameHostilely();
      const text = withoutBudget(await runOk('explain', 'cmc1'));
      expectPlain(text);
      expect(text.trimEnd().split('\n')).toHaveLength(8);
      expect(JSON.stringify(await runJson('explain', 'cmc1'))).not.toContain('second@');
    });
  });

  describe('plans', () => {
    // On a slow machine it says how far it is.
    const approve = async (plan: string) => (await run('plans', 'approve', plan, '--without-reading')).stdout;

    it('list says that there are none', async () => {
      await hireAll();
      expect(await runOk('plans', 'list')).toMatch(/^No plans match\./);
    });

    it('list and show say who would be removed and why', async () => {
      await holdAll();
      const [titles, row] = (await runOk('plans', 'list')).split('\n');
      expect(titles).toMatch(/^plan +install +state +people +age +decided$/);
      expect(row).toMatch(/^1 +acme +open +3 +\d+ s$/);
      expect(await runJson('plans', 'list', '--state', 'approved')).toMatchObject({ items: [] });
      const text = await runOk('plans', 'show', '1');
      expect(text).toMatch(
        /\nAmara O\. +cmu1 +street-signs +list +1 +cmc1 +the link to the project was removed +access +open\n/,
      );
      expect(await runJson('plans', 'show', '1')).toMatchObject({
        id: 1,
        install: 'acme',
        state: 'open',
        size: 3,
        items: numbers.map((number) => ({
          trainerId: `cmu${number}`,
          isStale: false,
          contractIds: [`cmc${number}`],
          cause: 'link_removed',
          because: 'the link to the project was removed',
        })),
      });
    });

    it('approve removes them once', async () => {
      await holdAll();
      // No marketplace answers here.
      const unread = /acme could not be read.+approve 1 --without-reading$/m;
      expect(await run('plans', 'approve', '1')).toMatchObject({ stdout: '', ...refused(unread) });
      expect(roster()).toEqual({ 'street-signs': ['cmu1', 'cmu2', 'cmu3'] });
      expect(await approve('1')).toBe('Approved 3 removals.\nRemoved 3 of 3.\n');
      expect(roster()).toEqual({ 'street-signs': [] });
      await expectRefused('Plan 1 is already approved', 'plans', 'approve', '1');
      await expectRefused('Plan 1 is already approved', 'plans', 'reject', '1');
      expect(await runJson('plans', 'list')).toMatchObject({ items: [] });
      expect(await runJson('plans', 'list', '--all')).toMatchObject({ items: [{ id: 1 }] });
      expect(await runOk('plans', 'show', '1')).toMatch(/was removed +access +approved\n/);
    });

    it('approve leaves them to a running instance with --wait 0s', async () => {
      await holdAll();
      const asked = ['plans', 'approve', '1', '--without-reading', '--wait', '0s'];
      const { status, stdout } = await run(...asked, '--json');
      expect(status).toBe(2);
      const counts = { decided: 3, stale: 0, open: 0, removed: 0, failed: 0, left: 3 };
      expect(JSON.parse(stdout)).toEqual({ plan: 1, install: 'acme', ...counts, isRead: false, dropped: [] });
      expect(roster()).toEqual({ 'street-signs': ['cmu1', 'cmu2', 'cmu3'] });
      await act();
      expect(roster()).toEqual({ 'street-signs': [] });
    });

    it('approve keeps trainers whose evidence has changed', async () => {
      await holdAll();
      await workspace.receive(hire(1, { contract: 'cmc9', id: '91', link: 'cml9' }));
      expect(await runOk('plans', 'show', '1')).toMatch(/cmu1 .+ stale\n/);
      const [decided, , dropped, done] = (await approve('1')).split('\n');
      expect(decided).toBe('Approved 2 removals.');
      expect(dropped).toMatch(/^Amara O\. +cmu1 +street-signs +list +1 +they are wanted again$/);
      expect(done).toBe('Removed 2 of 2.');
      expect(roster()).toEqual({ 'street-signs': ['cmu1'] });
    });

    it.each([['show'], ['approve'], ['reject']])('%s names the existing plans', async (command) => {
      await hireAll();
      await expectRefused('There is no plan 7', 'plans', command, '7');
    });

    it("show prints strangers' names on one line", async () => {
      await holdAll();
      await nameHostilely();
      expectPlain(await runOk('plans', 'show', '1'));
      expect(JSON.stringify(await runJson('plans', 'show', '1'))).not.toContain('second@');
    });
  });

  describe('contracts', () => {
    it('list shows their status', async () => {
      await hireAll();
      expect(await runOk('contracts', 'list', '--budget', 'low')).toMatch(/^No contracts match\./);
      const lines = (await runOk('contracts', 'list')).trimEnd().split('\n');
      expect(lines[0]).toMatch(
        /^title +contract +trainers +install +status +begins +ends +budget +used +last heard +unlisted since$/,
      );
      expect(lines[1]).toMatch(/^Street signs +cmc1 +Amara O\. +acme +active .*\d+ (s|min|h|d)$/);
      expect(lines).toHaveLength(4);
      expect(await runJson('contracts', 'list', '--limit', '1')).toMatchObject({
        items: [
          {
            install: 'acme',
            contractId: 'cmc1',
            status: 'active',
            title: 'Street signs',
            heardAt: expect.stringMatching(/Z$/),
            trainers: [{ trainerId: 'cmu1', displayName: 'Amara O.' }],
            suspectSince: null,
          },
        ],
      });
      expect(await runJson('contracts', 'list', '--status', 'ended')).toEqual({ items: [], next: null });
      expect(await runJson('contracts', 'list', '--suspects')).toEqual({ items: [], next: null });
      await nameHostilely();
      const { stdout } = await run('contracts', 'list');
      expect(stdout).toContain('Evil');
      expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
    });
  });

  describe('retire', () => {
    const noOrphans = 'There is nobody to retire: people are orphaned once "gangway start --accept-orphans" has run.\n';

    /** Renames the install, and starts with that although that orphans all trainers. */
    async function orphanAll(): Promise<void> {
      await hireAll();
      changeConfig({ installs: { globex: config().installs.acme } });
      const running = startCommand('start', '--accept-orphans', '--config', workspace.configFile);
      await until(
        'all are orphaned',
        () => runJson('retire', '--all'),
        ({ orphans }) => orphans.length === 3,
      );
      running.stop();
      await running.ended;
    }

    it('only lists them without --yes', async () => {
      await orphanAll();
      const lines = (await runOk('retire', '--install', 'acme')).trimEnd().split('\n');
      expect(lines[0]).toMatch(/^name +trainer +group +tool +install +would be +membership$/);
      expect(lines[1]).toMatch(/^Amara O\. +cmu1 +street-signs +list +acme +removed +1$/);
      expect(lines.at(-1)).toBe('Nothing was changed; --yes retires them.');
      expect(await runJson('retire', '--tool', 'list')).toMatchObject({ retired: null });
      expect(await runOk('retire', '--install', 'globex', '--yes')).toBe(noOrphans);
      expect(roster()['street-signs']).toHaveLength(3);
      await nameHostilely();
      const { stdout } = await run('retire', '--all');
      expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
    });

    it('removes them with --yes, regardless of the brake', async () => {
      await orphanAll();
      expect(await runOk('explain', 'cmu1')).toMatch(/retire --install acme"\n$/);
      expect(await runOk('retire', '--install', 'acme', '--yes')).toBe('3 will be removed.\n');
      await act();
      expect(roster()).toEqual({ 'street-signs': [] });
      expect(await runOk('retire', '--all', '--yes')).toBe(noOrphans);
      expect(await runOk('explain', 'cmu1')).toMatch(/To do: Nothing\. An operator retired them\n$/);
    });

    it('releases members of a tool that is not configured', async () => {
      await orphanAll();
      const { installs, tools } = config();
      changeConfig({ installs: { globex: { ...installs.globex, tool: 'other' } }, tools: { other: tools.list } });
      expect(await runOk('retire', '--all')).toMatch(/cmu1 .* kept +1\n/);
      expect(await runOk('retire', '--all', '--yes')).toBe(
        '0 will be removed. 3 are kept: their tool is not configured.\n',
      );
      await act();
      expect(roster()['street-signs']).toHaveLength(3);
    });
  });

  describe('members', () => {
    it('release keeps a trainer in, and adopt removes them when their last reason ends', async () => {
      changeConfig({ marketplace: { baseUrl: await openIdleMarketplace() } });
      await workspace.receive(hire(1));
      expect(await runOk('members', 'release', '1')).toBe('Membership 1 is no longer managed by Gangway, and stays.\n');
      await workspace.receive(recent({ type: 'contract.ended', id: '92' }));
      await act();
      expect(roster()).toEqual({ 'street-signs': ['cmu1'] });
      expect(await runOk('explain', 'cmu1')).toMatch(/gangway members adopt 1\n$/);
      expect(await runOk('members', 'adopt', '1')).toBe(
        'Membership 1 is managed by Gangway now, and is removed: there is no active contract.\n',
      );
      await act();
      expect(roster()).toEqual({ 'street-signs': [] });
    });

    it('release and adopt can decide about everybody who was in before', async () => {
      const present = ['cmu1', 'cmu2'].map((id) => {
        return { id, email: `${id}@opentrain.work`, displayName: 'Amara O.', status: 'active' };
      });
      writeFileSync(workspace.rosterFile, JSON.stringify({ groups: { 'street-signs': present } }));
      await workspace.receive(hire(1), hire(2));
      expect(await runOk('status')).toContain('2 members were in before Gangway could add them.');
      expect(await runOk('members', '--undecided')).toMatch(/cmu1.+\n.+cmu2/);
      expect(await runJson('members', 'adopt', '1')).toMatchObject({ decided: [{ outcome: 'kept' }] });
      expect(await runJson('members', 'release', '--undecided', '--tool', 'list')).toEqual({
        decided: [{ membershipId: 2, outcome: 'released' }],
        refused: [],
      });
      expect(await runOk('members', '--undecided')).toBe('No memberships match.\n');
      expect(await runOk('members', 'adopt', '--undecided')).toBe('Nothing was decided.\n');
    });
  });
});
