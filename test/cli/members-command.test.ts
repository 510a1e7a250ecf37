import { describe, expect, it } from 'vitest';
import { fullEvent } from '../support/event-bodies.ts';
import { refused, useBridge } from './bridge.ts';

const createdAt = new Date(Date.now() - 60_000).toISOString();

describe('gangway members', () => {
  const { receive, run, runJson, runOk, withStorage } = useBridge();

  /** An account that was known to be a trainer's, and is not known to be theirs any more. */
  const doubt = (doubtedId: string) =>
    withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('membership').set({ doubtedId }).execute();
    });

  it('adopt and release decide whose account it is if it shows an address that no source reported', async () => {
    await receive(fullEvent({ type: 'contract.started', createdAt }));
    const unreported = ['members', 'adopt', '1', '--address', 'erin@lab.example'];
    expect(await run(...unreported)).toMatchObject({
      stdout: '',
      ...refused(/^gangway: Membership 1 has no account in doubt\n$/),
    });
    await doubt('77');
    const explained = await runOk('explain', 'cmu1');
    expect(explained).toContain('account 77, which was theirs, now shows an email that no source has reported');
    expect(explained).toContain('gangway members adopt 1 --address <the address it shows> if');
    expect(explained).toContain('or gangway members release 1 --doubted if');
    expect(await runOk('members')).toContain('account 77: whose is it?');
    const first = 'The account of membership 1 is in doubt. First run gangway members adopt 1 --address';
    expect(await run('members', 'release', '1')).toMatchObject(refused(first));
    expect(await runOk('members', 'release', '1', '--doubted')).toBe(
      'Membership 1 does not own that account, which stays as it is.\n',
    );
    expect(await run('members', 'release', '1', '--doubted')).toMatchObject(
      refused('Membership 1 has no account in doubt'),
    );
    await doubt('78');
    const adopted = await runJson('members', 'adopt', '1', '--address', 'amara@home.example');
    expect(adopted).toMatchObject({ decided: [{ membershipId: 1, outcome: 'adopted' }] });
    expect(await runOk('explain', 'cmu1')).not.toContain('78');
  });

  it('converge is refused for a membership that waits for something else', async () => {
    await receive(fullEvent({ type: 'contract.started', createdAt }));
    expect(await runOk('members', 'converge', '1')).toContain('syncs membership 1 now');
    await withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('membership').set({ state: 'held', wanted: false }).execute();
    });
    const stderr = 'gangway: Membership 1 is held, so a sync would change nothing\n';
    expect(await run('members', 'converge', '1')).toEqual({ status: 1, stdout: '', stderr });
  });
});
