import { beforeEach, describe, expect, it } from 'vitest';
import { invitationContext } from '../../src/db/seal-contexts.ts';
import type { InvitationContent } from '../../src/domain/invitation.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { useBridge } from './bridge.ts';

const url = 'https://tool.example.com/signup/1';
const link: InvitationContent = { kind: 'link', url };
const password: InvitationContent = {
  kind: 'password',
  url: null,
  username: 'cmu1@opentrain.work',
  password: 'made-up-and-quite-secret',
};

describe('commands about invitations', { timeout: 20_000 }, () => {
  const workspace = useBridge();
  const { run, runJson, runOk } = workspace;

  beforeEach(async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt }));
  });

  async function expectRefused(message: RegExp, ...argv: string[]): Promise<void> {
    const { status, stdout, stderr } = await run(...argv);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  }

  /** Stores an invitation as if the tool had given it. */
  const invite = (content: InvitationContent, changes: object = {}) =>
    workspace.withStorage(async ({ database: { kysely }, box }) => {
      const state = content.kind === 'link' ? 'invited' : 'active';
      await kysely.updateTable('membership').set({ state }).execute();
      await kysely.deleteFrom('invitation').execute();
      const sealed = box.seal(Buffer.from(JSON.stringify(content)), invitationContext({ membershipId: 1 }));
      const at = '2026-03-15T12:00:00.000Z';
      const undelivered = { deliveredAt: null, deliveredBy: null, failure: null, expiresAt: null, nextAttemptAt: at };
      const made = { membershipId: 1, kind: content.kind, content: sealed, createdAt: at, ...undelivered, ...changes };
      await kysely.insertInto('invitation').values(made).execute();
    });

  const audits = async () => {
    const said: string[] = [];
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const rows = await kysely.selectFrom('audit').selectAll().orderBy('id').execute();
      said.push(...rows.map(({ action, subject }) => `${action}: ${subject}`));
    });
    return said;
  };

  const configureMail = () =>
    workspace.changeConfig({ mail: { smtp: 'smtp://127.0.0.1:9', from: 'studio@example.com' } });

  it('show a link once, and then delete it', async () => {
    await invite(link);
    expect(await runOk('members', 'invitation', '1')).toBe(`link      ${url}\nSend it now. It won't be shown again.\n`);
    await expectRefused(
      /^gangway: The invitation of membership 1 was shown to an operator at \S+ and is not kept\. Run gangway members renew 1 for a new one\n$/,
      ...['members', 'invitation', '1'],
    );
    expect(await audits()).toEqual(['members invitation: membership 1']);
    await workspace.withStorage(async ({ database: { kysely } }) => {
      expect(await kysely.selectFrom('invitation').selectAll().execute()).toMatchObject([
        { content: null, deliveredBy: 'operator' },
      ]);
    });
  });

  it('show a password once, as JSON too', async () => {
    await invite(password);
    expect(await runJson('members', 'invitation', '1')).toEqual({
      membershipId: 1,
      invitation: { ...password, expiresAt: null },
    });
    await expectRefused(/Set another password in the tool/, 'members', 'invitation', '1');
  });

  it('say why there is nothing to show', async () => {
    await expectRefused(/There is no membership 9/, 'members', 'invitation', '9');
    await expectRefused(/Membership 1 has no invitation/, 'members', 'invitation', '1');
    await invite(link, { expiresAt: '2026-03-16T12:00:00.000Z' });
    await expectRefused(/expired at 2026-03-16T12:00:00.000Z/, 'members', 'invitation', '1');
    await invite(link, { isRenewalWanted: true });
    await expectRefused(/about to get another invitation/, 'members', 'invitation', '1');
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('membership').set({ wanted: false, state: 'removing' }).execute();
    });
    await expectRefused(/Membership 1 is removing and has no invitation/, 'members', 'invitation', '1');
    expect(await audits()).toEqual([]);
  });

  it('say why nothing can be renewed', async () => {
    await expectRefused(/Membership 1 has no invitation/, 'members', 'renew', '1');
    await invite(password);
    await expectRefused(/The tool cannot make another password\. Set one in the tool/, ...['members', 'renew', '1']);
    // A roster sends no invitations.
    await invite(link);
    await expectRefused(/list cannot renew an invitation/, 'members', 'renew', '1');
    expect(await audits()).toEqual([]);
  });

  it('list who waits and for what, without their links and passwords', async () => {
    expect(await runOk('members', 'waiting')).toMatch(/^No invitation is waiting\./);
    await invite(link);
    expect(await runOk('members', 'waiting')).toMatch(/ waiting for .*\n.* invited +you to send it .* 1$/m);
    configureMail();
    expect(await runOk('members', 'waiting')).toMatch(/ invited +the mail server /);
    await invite(link, { nextAttemptAt: null, failure: '550 at RCPT TO' });
    const shown = await runJson('members', 'waiting');
    const invitation = { kind: 'link', expiresAt: null, failure: '550 at RCPT TO' };
    expect(shown.items).toMatchObject([{ id: 1, wanted: true, waitsFor: 'operator', invitation }]);
    expect(JSON.stringify(shown)).not.toContain(url);
    await invite(link, { expiresAt: '2026-03-16T12:00:00.000Z' });
    expect(await runOk('members', 'waiting')).toContain('you to renew it: it expired');
  });

  it('name in status and explain the trainers whose invitation was not delivered', async () => {
    const says = '1 trainer is waiting for you to send their login.';
    await workspace.pretendRunning();
    await invite(password);
    expect(await runOk('status')).toMatch(new RegExp(`waiting  ${says}[^→]*→ Run gangway members waiting`));
    expect(await runOk('explain', 'cmu1')).toMatch(
      /Active in street-signs of list; their password has not been sent yet\n {2}To do: Send them their login: /,
    );
    configureMail();
    expect(await runOk('status')).toContain(says);
    await invite(link);
    expect(await runOk('status')).toContain('Nothing needs you.');
    await invite(link, { failure: 'ECONNREFUSED' });
    expect(await runOk('status')).toContain(says);
    await runOk('members', 'invitation', '1');
    expect(await runOk('status')).toContain('Nothing needs you.');
    expect(await runOk('explain', 'cmu1')).toContain('their invitation link was shown to an operator at');
  });
});
