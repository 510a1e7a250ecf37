import { readFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { renewInvitationOf, takeInvitation } from '../../src/converge/invitation-store.ts';
import type { Database } from '../../src/db/database.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { claimMail, settleMail } from '../../src/notify/mail-store.ts';
import { convergeDue } from '../support/converging.ts';
import { openForTest } from '../support/databases.ts';
import type { Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createLoginTool } from '../support/inviting-tool.ts';
import { killAtTransaction } from '../support/kill-at-transaction.ts';
import { type MailBox, openMailBox, refusal } from '../support/mail-box.ts';
import { type MailWorld, openMailWorld } from '../support/mailing.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const hourMs = 3_600_000;
const address = 'cmu1@opentrain.work';
const started = fullEvent({ type: 'contract.started' });
const never = new AbortController().signal;

describeAnyDatabase('an invitation by link', (openFresh) => {
  let world: MailWorld;
  let engine: Engine;
  let box: MailBox;

  beforeEach(async () => {
    world = await openMailWorld(await openFresh());
    ({ engine, box } = world);
    await engine.apply([started]);
    expect(await convergeDue(engine, world.tool)).toEqual(['add invited']);
  });

  const createMailer = (...options: Parameters<MailWorld['createMailer']>) => world.createMailer(...options);
  const mailAll = (...mailer: Parameters<MailWorld['mailAll']>) => world.mailAll(...mailer);
  const invitation = async () => (await engine.rows('invitation'))[0];
  const ids = () => box.mails.map(({ headers }) => headers.get('message-id'));
  const outcomes = async () => {
    const { values } = await engine.metrics.invitations.get();
    return values.map(({ labels, value }) => `${labels['outcome']} ${value}`);
  };
  const waiting = () => world.waiting();
  const by = () => ({ actor: 'ada', at: toInstant(engine.clock.now()) });

  it('is mailed once, and then neither kept nor shown to an operator', async () => {
    expect(await waiting()).toEqual(['mail']);
    await mailAll();
    engine.clock.advance(24 * hourMs);
    await mailAll();
    expect(box.mails).toMatchObject([{ to: [address] }]);
    expect(box.mails[0]?.headers.get('subject')).toBe('Into Street signs');
    expect(box.mails[0]?.text).toContain(`\n\n${world.tool.link()}\n\n`);
    expect(await invitation()).toMatchObject({
      content: null,
      deliveredBy: 'mail',
      deliveredAt: '2026-03-15T12:00:00.000Z',
      nextAttemptAt: null,
      failure: null,
    });
    expect([await waiting(), await outcomes()]).toEqual([[], ['sent 1']]);
    await expect(takeInvitation(engine, 1, by())).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The invitation of membership 1 was mailed at 2026-03-15/),
    });
  });

  it('is readable neither in the database nor in the log', async () => {
    await mailAll();
    expect(box.mails).toHaveLength(1);
    const seen = [engine.log.text(), await everything(engine.database)].join('\n');
    expect(engine.log.text()).toContain('An invitation was mailed');
    for (const secret of [address, world.tool.link()]) expect(seen).not.toContain(secret);
  });

  it('waits while the server is down, and is mailed once when it is up', async () => {
    const { port } = box.server;
    await box.close();
    const mailer = createMailer();
    expect(await mailer(never)).toBe('more');
    expect(await invitation()).toMatchObject({
      failure: 'ESOCKET',
      attempts: 1,
      deliveredAt: null,
    });
    for (let tries = 2; tries < 15; tries += 1) {
      engine.clock.advance(hourMs);
      await mailer(never);
      expect(await invitation()).toMatchObject({ attempts: tries });
    }
    box = await openMailBox({}, { port });
    engine.clock.advance(hourMs);
    await mailAll(mailer);
    expect(box.mails).toHaveLength(1);
    expect((await outcomes()).sort()).toEqual(['sent 1', 'unusable 14']);
  });

  it('is the only one tried while the server is down, however many wait', async () => {
    const trainers = ['cmu2', 'cmu3'];
    const events = trainers.map((trainer) =>
      fullEvent({ type: 'contract.started', trainer, contract: `of-${trainer}` }),
    );
    await engine.apply(events);
    await convergeDue(engine, world.tool);
    await box.close();
    await mailAll();
    expect(await outcomes()).toEqual(['unusable 1']);
  });

  it('is left to an operator if the server refuses the recipient', async () => {
    const { server } = await openMailBox({
      onRcptTo: (to, _, done) => done(refusal(550, `5.1.1 <${to.address}> unknown`)),
    });
    await mailAll(createMailer({ server }));
    engine.clock.advance(24 * hourMs);
    await mailAll(createMailer({ server }));
    expect(await invitation()).toMatchObject({
      failure: '550 5.1.1 at RCPT TO',
      nextAttemptAt: null,
      deliveredAt: null,
    });
    expect([await waiting(), await outcomes()]).toEqual([['operator'], ['refused 1']]);
    const msg = 'The mail server refused an invitation';
    expect(engine.log.lines()).toContainEqual(expect.objectContaining({ msg, membership: 1 }));
    expect(engine.log.text()).not.toContain('cmu1@');
    expect(await takeInvitation(engine, 1, by())).toMatchObject({ content: { url: world.tool.link() } });
  });

  it('is tried again if the login is refused, which is not about the recipient', async () => {
    box = await openMailBox({ onAuth: (_, __, done) => done(refusal(535, 'no')) });
    const server = { ...box.server, login: { user: 'studio', password: 'old' } };
    await mailAll(createMailer({ server }));
    expect(await invitation()).toMatchObject({ nextAttemptAt: expect.any(String) });
    expect(await waiting()).toEqual(['mail']);
    box = await openMailBox({ onAuth: (_, __, done) => done(null, { user: 'studio' }) });
    engine.clock.advance(hourMs);
    await mailAll(createMailer({ server: { ...server, port: box.server.port } }));
    expect(box.mails).toHaveLength(1);
  });

  it('is sent with the same id after a crash, when nobody knows whether it was sent', async () => {
    // The first transaction claims the mail, the second settles it.
    const database = killAtTransaction(engine.database, 2);
    await expect(createMailer({ of: database })(never)).rejects.toThrow('killed');
    await mailAll();
    expect(box.mails).toHaveLength(1);
    engine.clock.advance(60_000);
    await mailAll();
    expect(ids()).toEqual([expect.stringMatching(/@example\.com>$/), ids()[0]]);
    expect(await invitation()).toMatchObject({ content: null, deliveredBy: 'mail' });
  });

  it('is mailed by one of two instances', async () => {
    const other = openForTest(engine.database.url);
    const mailers = [createMailer(), createMailer({ of: other })];
    await Promise.all(mailers.map(mailAll));
    expect(box.mails).toHaveLength(1);
  });

  it('settles nothing if the invitation was replaced meanwhile', async () => {
    const claimed = await claimMail(engine, order());
    engine.clock.advance(hourMs);
    await renewInvitationOf(engine, 1, () => true, by());
    await convergeDue(engine, world.tool);
    if (claimed !== null) await settleMail(engine, claimed, { sentAt: by().at });
    expect(claimed).not.toBeNull();
    expect(await invitation()).toMatchObject({ deliveredAt: null, content: expect.anything() });
  });

  const order = () => {
    const now = toInstant(engine.clock.now());
    return { now, leasedUntil: now, managedDomains: [] };
  };

  it('is mailed again as another mail after an operator renewed it', async () => {
    await mailAll();
    engine.clock.advance(hourMs);
    await renewInvitationOf(engine, 1, () => true, by());
    await mailAll();
    expect(box.mails).toHaveLength(1);
    expect(await convergeDue(engine, world.tool)).toEqual(['add invited']);
    await mailAll();
    expect(box.mails).toHaveLength(2);
    expect(new Set(ids()).size).toBe(2);
  });

  it('goes to no trainer who should be out, who is in, or whose link has expired', async () => {
    const { kysely } = engine.database;
    const set = (values: object) => kysely.updateTable('membership').set(values).execute();
    await set({ wanted: false, state: 'removing' });
    await mailAll();
    await set({ wanted: true, state: 'orphaned' });
    await mailAll();
    await set({ state: 'invited' });
    const expiresAt = toInstant(engine.clock.now());
    await kysely.updateTable('invitation').set({ expiresAt }).execute();
    await mailAll();
    expect([box.mails, await waiting()]).toEqual([[], ['renewal']]);
    await kysely.updateTable('invitation').set({ expiresAt: null }).execute();
    await mailAll();
    expect(box.mails).toHaveLength(1);
  });

  it('goes only to the address of the membership, and only if that is managed', async () => {
    const { kysely } = engine.database;
    await mailAll(createMailer({ managedDomains: ['managed.example'] }));
    // An address that an install knows is not yet the one that access was given under.
    await kysely.updateTable('membershipAddress').set({ isCurrent: false }).execute();
    await mailAll();
    expect([box.mails, await waiting()]).toEqual([[], ['operator']]);
    await kysely.updateTable('membershipAddress').set({ isCurrent: true }).execute();
    await mailAll(createMailer({ managedDomains: ['opentrain.work'] }));
    expect(box.mails).toHaveLength(1);
  });

  it('is a plain mail, whatever strangers call themselves and their projects', async () => {
    const { kysely } = engine.database;
    const displayName = 'Eve\r\nBcc: eve@evil.example\r\n\r\n{link} \u202e';
    await kysely.updateTable('person').set({ displayName }).execute();
    const externalProjectName = 'Signs\r\nX-Evil: yes {name}';
    await kysely.updateTable('link').set({ externalProjectName }).execute();
    const styled = { template: 'For {name}: {link}', subject: 'Into {project}, {name}' };
    await mailAll(createMailer({ styled }));
    const [received] = box.mails;
    expect(received?.to).toEqual([address]);
    expect(received?.text.trimEnd()).toBe(`For Eve Bcc: … {link}: ${world.tool.link()}`);
    expect(received?.headers.get('subject')).toBe('Into Signs X-Evil: yes {name}, Eve Bcc: … {link}');
    const names = [...(received?.headers.keys() ?? [])];
    expect(names.filter((name) => name === 'bcc' || name.startsWith('x-'))).toEqual([]);
  });

  it('is not mailed if the tool gave no web link', async () => {
    const content = { kind: 'link', url: 'javascript:alert(1)' };
    const sealed = engine.box.seal(Buffer.from(JSON.stringify(content)), 'invitation.content:1');
    await engine.database.kysely.updateTable('invitation').set({ content: sealed }).execute();
    await mailAll();
    expect([box.mails, await waiting()]).toEqual([[], ['operator']]);
  });
});

describeAnyDatabase('an invitation by password', (openFresh) => {
  it('is never mailed, and waits for an operator', async () => {
    const { engine, box, createMailer, listed } = await openMailWorld(await openFresh());
    await engine.apply([started]);
    await convergeDue(engine, createLoginTool(), { makesLogins: true });
    expect(await createMailer()(never)).toBe('idle');
    expect(box.mails).toEqual([]);
    expect(await listed()).toMatchObject([{ waitsFor: 'operator', invitation: { kind: 'password' }, state: 'active' }]);
  });
});

/** All that is written down, as a text; of SQLite the file too. */
async function everything(database: Database): Promise<string> {
  const tables = await database.kysely.introspection.getTables({ withInternalKyselyTables: true });
  const rows = await Promise.all(
    tables.map(({ name }) =>
      database.kysely
        .selectFrom(name as 'person')
        .selectAll()
        .execute(),
    ),
  );
  const cells = rows.flat().flatMap((row) => Object.values(row) as unknown[]);
  const text = cells.map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : cell));
  const file = sqliteFileOf(database.url);
  const files = file === undefined ? [] : [file, `${file}-wal`];
  return [...text, ...files.map((one) => readFileSync(one, 'latin1'))].join('\n');
}
