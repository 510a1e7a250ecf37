import { describe, expect, it } from 'vitest';
import { openHeldPlan } from '../../support/held-plan.ts';
import { createVisitor, type VisitedPage } from '../../support/visitor.ts';

const minuteMs = 60_000;

async function openHeld() {
  const held = await openHeldPlan();
  return { ...held, visitor: createVisitor(held.consoleUrl) };
}

function boxesIn(page: VisitedPage): (string | undefined)[] {
  return page.html.querySelectorAll('input[type=checkbox]').map((box) => box.getAttribute('value'));
}

describe('a plan', () => {
  it('names who would go and why, and is approved for those who are ticked alone', async () => {
    const held = await openHeld();
    const { visitor, quiet, ids, hired } = held;
    await visitor.signIn('otto');
    const list = await visitor.visit('/plans?state=open');
    expect(list.text).toMatch(/Plan 1 \| acme \| open \| 4 \|/);
    const plan = await visitor.visit('/plans/1');
    expect(plan.text).toContain('Because the link to the project was removed');
    for (const { trainers } of hired) expect(plan.text).toContain(trainers[0]?.opentrainUserId);
    expect(boxesIn(plan)).toEqual(ids);

    const after = await visitor.press(plan, 'Approve the ticked', { membership: ids.slice(0, 2) });
    expect(after).toMatchObject({ status: 200, path: '/plans/1' });
    await quiet();
    expect(held.size()).toBe(2);
    const later = await visitor.visit('/plans/1');
    expect(later.text).toContain('This plan is open');
    expect(boxesIn(later)).toEqual(ids.slice(2));
    expect(later.text.match(/\| approved \| removed/g)).toHaveLength(2);
    await held.pass(60 * minuteMs);
    expect(held.size()).toBe(2);
  });

  it('is rejected for those who are ticked, who stay, and is closed with the last decision', async () => {
    const held = await openHeld();
    const { visitor, ids, quiet, storage } = held;
    await visitor.signIn('otto');
    const reject = async (membership: string[]) =>
      await visitor.press(await visitor.visit('/plans/1'), 'Reject the ticked', { membership });
    const none = await reject([]);
    expect([none.status, none.text]).toEqual([400, expect.stringContaining('Choose at least one person')]);
    expect((await reject(ids.slice(0, 3))).text).toContain('This plan is open');
    const closed = await reject(ids.slice(3));
    expect(closed.text).toContain('This plan is rejected');
    expect(boxesIn(closed)).toEqual([]);
    await quiet();
    expect(held.size()).toBe(4);
    const acts = await storage.database.kysely.selectFrom('audit').selectAll().orderBy('id').execute();
    expect(acts).toMatchObject([
      { actor: 'otto', action: 'plans reject', subject: `plan 1, memberships ${ids.slice(0, 3).join(', ')}` },
      { actor: 'otto', action: 'plans reject', before: '1 open', after: '1 rejected, 0 stale, 0 open' },
    ]);
  });

  it('says whose removal is no longer due, and takes out none of them', async () => {
    const held = await openHeld();
    const { visitor, customer, quiet, ids } = held;
    await visitor.signIn('otto');
    const seen = await visitor.visit('/plans/1');
    await customer.link('street-signs');
    await quiet();
    const now = await visitor.visit('/plans/1');
    expect(now.text.match(/\| they are to be in by now/g)).toHaveLength(4);
    expect(boxesIn(now)).toEqual([]);
    // The page was opened before, and is sent now.
    await visitor.press(seen, 'Approve the ticked', { membership: ids });
    await quiet();
    expect(held.size()).toBe(4);
  });

  it('gives a viewer the names, and nothing to send', async () => {
    const { visitor, hired } = await openHeld();
    await visitor.signIn('vera');
    const plan = await visitor.visit('/plans/1');
    expect(plan.text).toContain(hired[0]?.trainers[0]?.opentrainUserId);
    expect(plan.html.querySelectorAll('main form, main button, main input')).toEqual([]);
  });
});
