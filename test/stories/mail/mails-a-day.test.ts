import { beforeEach, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config-schema.ts';
import type { Context } from '../../../src/context.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { purgeCounts } from '../../../src/notify/mail-store.ts';
import { createMailing } from '../../../src/notify/mail-worker.ts';
import { createSendMail } from '../../../src/notify/send-mail.ts';
import { listWaiting } from '../../../src/operations/members.ts';
import { convergeDue, resetDue } from '../../support/converging.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createSharedLinkTool } from '../../support/inviting-tool.ts';
import { type MailBox, openMailBox, refusal } from '../../support/mail-box.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const style = { from: 'studio@example.com', subject: 'Into {project}' };

function withMail(engine: Engine): Context {
  const marketplace = { ...engine.config.marketplace, managedDomains: [] };
  return { ...engine, config: { ...engine.config, marketplace, mail: {} as Config['mail'] } };
}

describeAnyDatabase('mails to one person', (openFresh) => {
  let engine: Engine;
  let tool: ReturnType<typeof createSharedLinkTool>;
  let box: MailBox;

  beforeEach(async () => {
    engine = createEngine(await openFresh(), { limits: { max: 1000, maxFraction: 1 } });
    tool = createSharedLinkTool();
    box = await openMailBox();
  });

  function createMailer(server = box.server) {
    return createMailing(engine, { send: createSendMail(server), style });
  }

  async function mailAll(mailer = createMailer()): Promise<void> {
    const { signal } = new AbortController();
    while ((await mailer(signal)) === 'more');
  }

  /** Of each address, how many mails came since that was asked last. */
  const newMails = () => {
    const byAddress = Map.groupBy(box.mails.splice(0), ({ to }) => to[0] ?? '');
    return Object.fromEntries([...byAddress].map(([to, mails]) => [to, mails.length]));
  };

  /** Into a project of its own: one more invitation for the same person. */
  async function invite(project: string, trainer = 't1', install = 'acme'): Promise<void> {
    const contract = `${trainer}-${project}`;
    const wish = { trainer, contract, project, link: `l-${project}` };
    await engine.apply([fullEvent({ type: 'contract.started', ...wish })], install);
    await convergeDue(engine, tool);
  }

  const waiting = async () => (await listWaiting(withMail(engine), { limit: 10 })).map(({ waitsFor }) => waitsFor);

  it('are three a day: the next waits until the first is a day old, and none is lost', async () => {
    for (const project of ['p1', 'p2', 'p3', 'p4', 'p5']) {
      await invite(project);
      await mailAll();
      engine.clock.advance(minuteMs);
    }
    expect(newMails()).toEqual({ 't1@opentrain.work': 3 });
    expect(await waiting()).toEqual(['mail', 'mail']);
    engine.clock.advance(dayMs - 5 * minuteMs - 1);
    await mailAll();
    expect(newMails()).toEqual({});
    engine.clock.advance(1);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 1 });
    engine.clock.advance(minuteMs);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 1 });
    expect(await waiting()).toEqual([]);
  });

  it('are counted for each install: one does not use up what another may send', async () => {
    for (const project of ['p1', 'p2', 'p3', 'p4']) await invite(project, 't1', 'acme');
    await mailAll();
    await invite('p5', 't1', 'globex');
    await invite('p6', 't2', 'acme');
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 4, 't2@opentrain.work': 1 });
  });

  it('are three a day for one mailbox, whatever tags its addresses have', async () => {
    const victims = ['victim+0', 'victim+1', 'Victim+2', 'victim', 'victim+3'];
    for (const trainer of victims) await invite('signs', trainer);
    await mailAll();
    expect(Object.keys(newMails())).toHaveLength(3);
    engine.clock.advance(dayMs);
    await mailAll();
    expect(Object.keys(newMails())).toHaveLength(2);
  });

  it('take turns with those of another install, whose two hundred invitations were there before', async () => {
    const many = [...Array(200).keys()].map((index) => `many${index}`);
    const events = many.map((trainer) => fullEvent({ type: 'contract.started', trainer, contract: `of-${trainer}` }));
    await engine.apply(events);
    while ((await convergeDue(engine, tool)).length > 0);
    engine.clock.advance(minuteMs);
    await invite('p1', 'one', 'globex');
    const mailer = createMailer();
    for (let mails = 0; mails < 2; mails += 1) await mailer(new AbortController().signal);
    expect(newMails()).toHaveProperty(['one@opentrain.work'], 1);
  });

  it('are a thousand a day for one install', async () => {
    await invite('p1');
    const [{ membershipId }] = (await engine.rows('invitation')) as [{ membershipId: number }];
    const mailedAt = toInstant(engine.clock.now());
    const earlier = [...Array(1000).keys()].map((index) => ({
      ...{ membershipId, install: 'acme', mailedAt },
      invitedAt: `earlier ${index}`,
      addressDigest: `${index}`,
    }));
    await engine.database.kysely.insertInto('mailed').values(earlier).execute();
    await invite('p2', 't2', 'globex');
    await mailAll();
    expect(newMails()).toEqual({ 't2@opentrain.work': 1 });
    engine.clock.advance(dayMs);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 1 });
  });

  it('are no more if two instances mail at once', async () => {
    for (const project of ['p1', 'p2', 'p3', 'p4', 'p5', 'p6']) await invite(project);
    await Promise.all([mailAll(), mailAll(), mailAll()]);
    expect(newMails()).toEqual({ 't1@opentrain.work': 3 });
  });

  it('count once however often they are tried, and not if they did not arrive', async () => {
    const refusing = await openMailBox({
      onRcptTo: (_address, _session, done) => done(refusal(451, 'later')),
    });
    await invite('p1');
    for (let tried = 0; tried < 5; tried += 1) {
      await mailAll(createMailer(refusing.server));
      engine.clock.advance(60 * minuteMs);
    }
    expect(await engine.rows('mailed')).toEqual([]);
    for (const project of ['p2', 'p3']) await invite(project);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 3 });
  });

  it('are forgotten after a day', async () => {
    await invite('p1');
    await mailAll();
    engine.clock.advance(dayMs - 1);
    await purgeCounts(engine, toInstant(engine.clock.now()));
    expect(await engine.rows('mailed')).toHaveLength(1);
    engine.clock.advance(1);
    await purgeCounts(engine, toInstant(engine.clock.now()));
    expect(await engine.rows('mailed')).toEqual([]);
  });

  /** What those who stay were mailed meanwhile, if anything. */
  async function passSecond(at: number): Promise<object[]> {
    // After a minute nothing happens in between.
    if (at > 60 && at % 60 !== 0) return [];
    await resetDue(engine, tool);
    await convergeDue(engine, tool);
    await mailAll();
    engine.clock.advance(at < 60 ? 1000 : minuteMs);
    const mailed = Object.entries(newMails()).filter(([to]) => to.startsWith('stays'));
    return mailed.length > 0 ? [Object.fromEntries(mailed)] : [];
  }

  it('are one each, by one reset, where ten others end in 48 s', async () => {
    const staying = [1, 2].map((index) => `stays${index}`);
    const leaving = [...Array(10).keys()].map((index) => `leaves${index}`);
    for (const trainer of [...staying, ...leaving]) await invite('signs', trainer);
    await mailAll();
    newMails();

    const toEach = Object.fromEntries(staying.map((trainer) => [`${trainer}@opentrain.work`, 1]));
    const seen: object[] = [];
    for (let at = 0; at < 30 * 60; at += 1) {
      const trainer = at % 5 === 0 ? leaving[at / 5] : undefined;
      if (trainer !== undefined) {
        const wish = { trainer, contract: `${trainer}-signs`, project: 'signs', link: 'l-signs' };
        await engine.apply([fullEvent({ type: 'contract.ended', ...wish })]);
      }
      seen.push(...(await passSecond(at)));
    }
    expect(seen).toEqual([toEach]);
    expect(tool.resets()).toBe(1);
  });
});
