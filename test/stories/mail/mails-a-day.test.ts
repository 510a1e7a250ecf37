import { beforeEach, expect, it } from 'vitest';
import { toInstant } from '../../../src/lib/clock.ts';
import { purgeCounts } from '../../../src/notify/mail-store.ts';
import { convergeDue, resetDue } from '../../support/converging.ts';
import type { Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { openMailBox, refusal } from '../../support/mail-box.ts';
import { type MailWorld, openMailWorld } from '../../support/mailing.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

describeAnyDatabase('mails to one person', (openFresh) => {
  let world: MailWorld;
  let engine: Engine;
  let mailAll: MailWorld['mailAll'];

  beforeEach(async () => {
    world = await openMailWorld(await openFresh(), { limits: { max: 1000, maxFraction: 1 } });
    ({ engine, mailAll } = world);
  });

  /** Of each address, how many mails came since that was asked last. */
  const newMails = () => {
    const byAddress = Map.groupBy(world.box.mails.splice(0), ({ to }) => to[0] ?? '');
    return Object.fromEntries([...byAddress].map(([to, mails]) => [to, mails.length]));
  };

  /** Into a project of its own: one more invitation for the same person. */
  async function invite(project: string, trainer = 't1', install = 'acme'): Promise<void> {
    const contract = `${trainer}-${project}`;
    const wish = { trainer, contract, project, link: `l-${project}` };
    await engine.apply([fullEvent({ type: 'contract.started', ...wish })], install);
    await convergeDue(engine, world.tool);
  }

  it('are three a day: the next waits until the first is a day old, and none is lost', async () => {
    for (const project of ['p1', 'p2', 'p3', 'p4', 'p5']) {
      await invite(project);
      await mailAll();
      engine.clock.advance(minuteMs);
    }
    expect(newMails()).toEqual({ 't1@opentrain.work': 3 });
    expect(await world.waiting()).toEqual(['mail', 'mail']);
    engine.clock.advance(dayMs - 5 * minuteMs - 1);
    await mailAll();
    expect(newMails()).toEqual({});
    engine.clock.advance(1);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 1 });
    engine.clock.advance(minuteMs);
    await mailAll();
    expect(newMails()).toEqual({ 't1@opentrain.work': 1 });
    expect(await world.waiting()).toEqual([]);
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
    while ((await convergeDue(engine, world.tool)).length > 0);
    engine.clock.advance(minuteMs);
    await invite('p1', 'one', 'globex');
    const mailer = world.createMailer();
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
      await mailAll(world.createMailer({ server: refusing.server }));
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
    await resetDue(engine, world.tool);
    await convergeDue(engine, world.tool);
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
    expect(world.tool.resets()).toBe(1);
  });
});
