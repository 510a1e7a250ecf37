import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { inStudio } from '../support/engine-harness.ts';
import { down, type GuidelineWorld, openGuidelineWorld } from '../support/guidelines/guideline-world.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { countTroublesIn } from '../support/troubles.ts';

const htmlOf = (text: string) => `<h1>Signs</h1><p>${text}</p>`;
const leaseOver = 60_000;

describeAnyDatabase('guidelines of a project', (openDatabase) => {
  async function open() {
    const world = await openGuidelineWorld(await openDatabase());
    return { ...world, own: await world.join('own', 'signs') };
  }

  const resultsOf = async (synced: ReturnType<GuidelineWorld['sync']>) =>
    (await synced).projects.map(({ project, result }) => `${project} ${result}`);

  it('are written once for each publication', async () => {
    const { own, sync, tool } = await open();
    const manual = own.write('Every sign.');
    expect(await resultsOf(sync())).toEqual([]);
    manual.publish();
    expect(await resultsOf(sync())).toEqual(['signs written']);
    expect(await resultsOf(sync())).toEqual(['signs shown']);
    manual.publish();
    expect(await resultsOf(sync())).toEqual(['signs shown']);
    expect([tool.texts.get('signs'), tool.writes]).toEqual([htmlOf('Every sign.'), 1]);
  });

  it('are recognised however the tool cleans them', async () => {
    const { own, sync, tool } = await open();
    tool.clean = (text) => `${text.replaceAll(/<\/?h1>/g, '').replace('<p>', '<p dir="ltr">')}\n`;
    const manual = own.write('Every sign.');
    manual.publish();
    expect(await resultsOf(sync())).toEqual(['signs written']);
    expect(await resultsOf(sync())).toEqual(['signs shown']);
    manual.edit('Every whole sign.');
    manual.publish();
    expect(await resultsOf(sync())).toEqual(['signs written']);
    expect(tool.texts.get('signs')).toBe('Signs<p dir="ltr">Every whole sign.</p>\n');
  });

  it('that the tool truncates are reported, and not written again and again', async () => {
    const { own, sync, tool, row } = await open();
    tool.clean = (text) => text.slice(0, 22);
    own.write('Every sign.').publish();
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect([tool.writes, (await row())?.says]).toEqual([1, expect.stringContaining('other words')]);
  });

  it('that the tool accepts but does not show are retried', async () => {
    const { own, sync, tool, row } = await open();
    own.write('Every sign.').publish();
    tool.clean = () => '';
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect(await row()).toMatchObject({ says: 'The tool accepted the text but does not show it', heldDigest: null });
    tool.clean = (text) => text;
    expect(await resultsOf(sync())).toEqual(['signs written']);
  });

  it('that are too long for any tool are reported, and not written at all', async () => {
    const { own, sync, tool, row } = await open();
    own.write('x'.repeat(500_000)).publish();
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect([tool.writes, (await row())?.says]).toEqual([0, expect.stringContaining('Gangway never truncates one')]);
  });

  it('are not emptied by a publication without a text', async () => {
    const { sandbox, own, sync, tool } = await open();
    tool.texts.set('signs', '');
    const { manualId } = sandbox.createManual(own.accountId, {
      bindings: [{ targetId: own.jobId }],
      pages: [{ title: 'For reviewers', audience: 'REVIEWER' }],
    });
    sandbox.publishManual(manualId);
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect(tool.writes).toBe(0);
  });

  it('that a person has emptied or changed stay so, until an operator says otherwise', async () => {
    const { own, sync, tool } = await open();
    const manual = own.write('Every sign.');
    manual.publish();
    await sync();
    for (const text of ['', htmlOf('Every <b>sign</b>.')]) {
      tool.texts.set('signs', text);
      manual.publish();
      expect(await resultsOf(sync())).toEqual(['signs edited']);
      expect(tool.texts.get('signs')).toBe(text);
    }
    expect(await resultsOf(sync('own', { overwrites: true }))).toEqual(['signs written']);
    tool.texts.set('signs', '');
    tool.texts.set('signs', htmlOf('Every sign.'));
    expect(await resultsOf(sync())).toEqual(['signs shown']);
  });

  it('stay if nothing is published any more: archived, unbound, or unlinked', async () => {
    const { sandbox, own, sync, tool } = await open();
    const [one, other] = [own.write('Every sign.'), own.write('No sign.', 7)];
    one.publish();
    await sync();
    sandbox.bindManual(one.id, { bindings: [] });
    expect(await resultsOf(sync())).toEqual([]);
    sandbox.archiveManual(one.id);
    expect(await resultsOf(sync())).toEqual([]);
    expect(tool.texts.get('signs')).toBe(htmlOf('Every sign.'));
    other.publish();
    expect(await resultsOf(sync())).toEqual(['signs written']);
    expect(tool.texts.get('signs')).toBe(htmlOf('No sign.'));
  });

  it('that were edited are no longer reported once nothing is published for the project', async () => {
    const { sandbox, own, sync, tool, row } = await open();
    const manual = own.write('Every sign.');
    manual.publish();
    await sync();
    tool.texts.set('signs', 'Ask Ben.');
    await sync();
    sandbox.archiveManual(manual.id);
    await sync();
    expect(await row()).toMatchObject({ state: 'unclaimed', says: null, manualId: manual.id });
    expect(tool.texts.get('signs')).toBe('Ask Ben.');
    own.write('Every lamp.').publish();
    expect(await resultsOf(sync())).toEqual(['signs edited']);
  });

  it('are not written if two jobs or installs have different manuals', async () => {
    const world = await open();
    const { own, sync, tool, row } = world;
    const manual = own.write('Every sign.');
    manual.publish();
    await sync();
    const second = await own.link('signs');
    const rival = own.writeFor(second, 'No sign.');
    rival.publish();
    expect(await resultsOf(sync())).toEqual(['signs disputed']);
    world.sandbox.archiveManual(rival.id);
    manual.edit('Every whole sign.');
    manual.publish();
    expect(await resultsOf(sync())).toEqual(['signs written']);
    const globex = await world.join('globex', 'signs');
    globex.write('Two signs.').publish();
    for (const install of ['own', 'globex']) {
      expect(await resultsOf(sync(install, { overwrites: true }))).toEqual(['signs disputed']);
    }
    expect(tool.texts.get('signs')).toBe(htmlOf('Every whole sign.'));
    expect((await row())?.says).toContain('Several manuals claim the project: ');
  });

  it("wait while another install's publication for the same project cannot be read", async () => {
    const world = await open();
    const { own, sync, tool } = world;
    own.write('Every sign.').publish();
    const globex = await world.join('globex', 'signs');
    world.sandbox.setFaults(globex.accountId, {
      forbidden: { probability: 1, operations: ['GET /instructions/workspaces'] },
    });
    expect(await resultsOf(sync())).toEqual(['signs failing']);
    await expect(sync('globex')).rejects.toMatchObject({ code: 'forbidden' });
    world.sandbox.setFaults(globex.accountId);
    expect([await resultsOf(sync()), tool.writes]).toEqual([['signs written'], 1]);
  });

  it('of an older reading do not replace newer ones', async () => {
    const { own, sync, tool, ctx } = await open();
    const manual = own.write('Every sign.');
    manual.publish();
    const source = ctx.sources.get('own') as Source;
    const old = await source.readPublications?.([own.jobId], AbortSignal.timeout(5000));
    manual.edit('Every whole sign.');
    manual.publish();
    await sync();
    const late = new Map([['own', { ...source, readPublications: async () => old ?? new Map() }]]);
    expect(await resultsOf(sync('own', { ctx: { ...ctx, sources: late } }))).toEqual(['signs shown']);
    expect(tool.texts.get('signs')).toBe(htmlOf('Every whole sign.'));
  });

  it('are retried after a tool was down, without holding up other projects for ever', async () => {
    const { own, sync, tool } = await open();
    own.write('Every sign.').publish();
    own.writeFor(await own.link('lamps'), 'Every lamp.').publish();
    tool.before = (_, project) => {
      if (project === 'signs') throw down;
    };
    const { projects, left } = await sync();
    expect([projects.length, left]).toEqual([1, 1]);
    await sync();
    expect(tool.texts.get('lamps')).toBe(htmlOf('Every lamp.'));
    tool.before = () => undefined;
    await sync();
    expect(tool.texts.get('signs')).toBe(htmlOf('Every sign.'));
  });

  it('that the tool refuses are reported with its message', async () => {
    const { own, sync, tool, row, ctx } = await open();
    own.write('Every sign.').publish();
    tool.before = (call) => {
      if (call === 'write') throw new AppError('invalid', 'Could not write: too long, says ada@example.com');
    };
    expect(await resultsOf(sync())).toEqual(['signs refused']);
    expect((await row())?.says).toBe('Could not write: too long, says a…@example.com');
    expect(await countTroublesIn(ctx, new Map([['own', inStudio()]]))).toEqual(['guideline_unwritten']);
  });

  it('are written by one process at a time', async () => {
    const { own, sync, tool, clock } = await open();
    own.write('Every sign.').publish();
    let other: string[] = [];
    tool.before = async (call) => {
      if (call === 'write') other = await resultsOf(sync());
    };
    expect(await resultsOf(sync())).toEqual(['signs written']);
    expect([other, tool.writes]).toEqual([['signs busy'], 1]);
    clock.advance(leaseOver);
    expect(await resultsOf(sync())).toEqual(['signs shown']);
  });

  it("are recognised as Gangway's wherever the process was killed, and whatever was lost", async () => {
    const world = await open();
    const { own, sync, tool, clock, ctx, row } = world;
    tool.clean = (text) => `${text.replaceAll(/<\/?h1>/g, '')} `;
    const manual = own.write('Sign 0.');
    manual.publish();
    await sync();
    let number = 0;
    for (let awaits = 1; ; awaits += 1) {
      number += 1;
      manual.edit(`Sign ${number}.`);
      manual.publish();
      const hasEnded = await untilKilled(ctx, awaits, (dying) => sync('own', { ctx: dying }));
      clock.advance(leaseOver);
      expect(await resultsOf(sync())).not.toContain('signs edited');
      expect(tool.texts.get('signs')).toBe(`Signs<p>Sign ${number}.</p> `);
      expect(await row()).toMatchObject({ state: 'shown', beforeDigest: null });
      if (hasEnded) break;
    }
    expect(number).toBeGreaterThan(6);
    tool.texts.set('signs', 'Ask Ben.');
    expect(await resultsOf(sync())).toEqual(['signs edited']);
  });

  it("are recognised as Gangway's if the answer to the first write was lost", async () => {
    const { own, sync, tool, clock, row } = await open();
    own.write('Every sign.').publish();
    tool.afterWrite = () => {
      throw down;
    };
    expect(await resultsOf(sync())).toEqual(['signs failing']);
    expect(await resultsOf(sync())).toEqual(['signs busy']);
    tool.afterWrite = () => undefined;
    clock.advance(leaseOver);
    expect(await resultsOf(sync())).toEqual(['signs shown']);
    expect([tool.writes, (await row())?.beforeDigest]).toEqual([1, null]);
  });
});

/**
 * Ends the process at one of the calls to the database or the tool: this call and all later ones are never answered.
 *
 * @returns whether the work had ended before
 */
async function untilKilled(ctx: Context, awaits: number, work: (dying: Context) => Promise<unknown>): Promise<boolean> {
  let left = awaits;
  const { promise: death, resolve: die } = Promise.withResolvers<'killed'>();
  // A promise that depends on an answer that never comes never settles either.
  const never: object = new Proxy(() => undefined, {
    get: (_, name) => (name === 'then' ? () => undefined : never),
    apply: () => never,
  });
  const mortal = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          left -= 1;
          if (left > 0) return Reflect.apply(member, target, args);
          die('killed');
          return never;
        };
      },
    });
  const adapters = new Map([...ctx.adapters].map(([name, adapter]) => [name, mortal(adapter)]));
  // A dying process rolls its transaction back, so none may stay open here.
  const database = { ...mortal(ctx.database), kysely: mortal(ctx.database.kysely) };
  const dying: Context = { ...ctx, database, adapters };
  return (await Promise.race([work(dying), death])) !== 'killed';
}
