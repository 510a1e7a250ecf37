import { describe, expect, it } from 'vitest';
import { openHeldPlan } from '../../support/held-plan.ts';
import { until } from '../../support/until.ts';
import type { VisitedPage } from '../../support/visitor.ts';
import { actsIn, outcomeOf, signIn } from './signed-in.ts';

const minuteMs = 60_000;

async function openHeld(name: 'otto' | 'vera' = 'otto') {
  const held = await openHeldPlan();
  return { ...held, ...(await signIn(held, name)) };
}

type Held = Awaited<ReturnType<typeof openHeld>>;

/** Presses the button, and then the one that says how many people are removed. */
async function approve(
  visitor: Held['visitor'],
  page: VisitedPage,
  button: string,
  given: Record<string, string[]> = {},
): Promise<VisitedPage> {
  const question = await visitor.press(page, button, given);
  const sure = question.html.querySelector('form[action="/do/plansApprove"] button')?.text.trim();
  return sure === undefined ? question : await visitor.press(question, sure);
}

/** More trainers, as the first one of the plan. */
async function addToPlan(kysely: Held['storage']['database']['kysely'], more: number): Promise<void> {
  const { id, ...first } = await kysely.selectFrom('membership').selectAll().orderBy('id').executeTakeFirstOrThrow();
  const { membershipId: _, ...item } = await kysely
    .selectFrom('planItem')
    .selectAll()
    .where('membershipId', '=', id)
    .executeTakeFirstOrThrow();
  const added = Array.from({ length: more }, (_, index) => ({
    ...first,
    id: id + 1001 + index,
    trainerId: `usr_more_${index + 1}`,
  }));
  // A statement has room for so many values.
  for (let from = 0; from < more; from += 100) {
    const memberships = added.slice(from, from + 100);
    await kysely.insertInto('membership').values(memberships).execute();
    const items = memberships.map((membership) => ({ ...item, membershipId: membership.id }));
    await kysely.insertInto('planItem').values(items).execute();
  }
}

function boxesIn(page: VisitedPage): (string | undefined)[] {
  return page.html.querySelectorAll('input[type=checkbox]').map((box) => box.getAttribute('value'));
}

describe('a plan', () => {
  it('names who would be removed and why, and is approved for the selected people only', async () => {
    const held = await openHeld();
    const { visitor, quiet, ids, hired } = held;
    const list = await visitor.visit('/plans?state=open');
    expect(list.text).toMatch(/^1 \| acme \| Open \| 4 \|/m);
    const plan = await visitor.visit('/plans/1');
    expect(plan.text).toContain('The link to the project was removed');
    for (const { trainers } of hired) expect(plan.text).toContain(trainers[0]?.opentrainUserId);
    expect(boxesIn(plan)).toEqual(ids);

    const after = await approve(visitor, plan, 'Approve selected', { membership: ids.slice(0, 2) });
    expect(after.status).toBe(200);
    await until('they are out', held.size, (size) => size === 2);
    expect((await outcomeOf(visitor, after)).text).toContain('Approved 2 removals.');
    await quiet();
    expect(held.size()).toBe(2);
    const later = await visitor.visit('/plans/1');
    expect(later.text).toContain('Open');
    expect(boxesIn(later)).toEqual(ids.slice(2));
    expect(later.text.match(/\| approved \| Removed/g)).toHaveLength(2);
    await held.pass(60 * minuteMs);
    expect(held.size()).toBe(2);
  });

  it('is rejected for the selected people, who stay, and is closed with the last decision', async () => {
    const held = await openHeld();
    const { visitor, ids, quiet } = held;
    const reject = async (membership: string[]) =>
      await visitor.press(await visitor.visit('/plans/1'), 'Reject selected', { membership });
    const none = await reject([]);
    expect([none.status, none.text]).toEqual([400, expect.stringContaining('Select at least one person.')]);
    expect((await reject(ids.slice(0, 3))).text).toContain('Open');
    const closed = await reject(ids.slice(3));
    expect(closed.text).toContain('Rejected');
    expect(boxesIn(closed)).toEqual([]);
    await quiet();
    expect(held.size()).toBe(4);
    expect(await actsIn(held)).toMatchObject([
      { actor: 'otto', action: 'plans reject', subject: `plan 1, memberships ${ids.slice(0, 3).join(', ')}` },
      { actor: 'otto', action: 'plans reject', before: '1 open', after: '1 rejected, 0 stale, 0 open' },
    ]);
  });

  it('says whose removal is no longer due, and removes none of them', async () => {
    const held = await openHeld();
    const { visitor, customer, quiet, ids } = held;
    const seen = await visitor.visit('/plans/1');
    await customer.link('street-signs');
    await quiet();
    const now = await visitor.visit('/plans/1');
    expect(now.text.match(/\| they are wanted again/g)).toHaveLength(4);
    expect(boxesIn(now)).toEqual([]);
    // The page was opened before, and is sent now.
    const outcome = await outcomeOf(visitor, await approve(visitor, seen, 'Approve selected', { membership: ids }));
    expect(outcome.text).toContain('Approved 0 removals.');
    const notice = outcome.html.querySelector('main [role=status]')?.text;
    expect(notice?.match(/they are wanted again/g)).toHaveLength(4);
    await quiet();
    expect(held.size()).toBe(4);
  });

  it('is approved as a whole by its number, unless it has changed since', async () => {
    const held = await openHeld();
    const { visitor, quiet, ids } = held;
    const seen = await visitor.visit('/plans/1');
    await visitor.press(seen, 'Reject selected', { membership: ids.slice(0, 1) });
    const refused = await approve(visitor, seen, 'Approve all 4');
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('has changed since')]);
    expect((await visitor.press(seen, 'Reject all 4')).status).toBe(409);
    const now = await visitor.visit('/plans/1');
    const outcome = await outcomeOf(visitor, await approve(visitor, now, 'Approve all 3'));
    expect(outcome.text).toContain('Approved 3 removals.');
    await quiet();
    expect(held.size()).toBe(1);
    const again = await approve(visitor, now, 'Approve all 3');
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('is already approved')]);
  });

  it('says at once that it is being approved, and then why it could not be', async () => {
    const held = await openHeld();
    const { visitor, sandbox } = held;
    const plan = await visitor.visit('/plans/1');
    sandbox.setFaults(undefined, { unauthenticated: 1 });
    const after = await approve(visitor, plan, 'Approve all 4');
    expect(after.text).toContain('Plan 1 was not approved, because acme could not be read');
    expect((await visitor.visit('/plans/1')).text).toContain('Open');
    const unknown = await visitor.visit('/started/0123456789abcdef');
    expect([unknown.status, unknown.text]).toEqual([200, expect.stringContaining('does not know this act')]);
  });

  it('does not keep an operator waiting for a marketplace that does not answer', async () => {
    const { visitor, sandbox } = await openHeld();
    const plan = await visitor.visit('/plans/1');
    sandbox.setFaults(undefined, { slow: { probability: 1, ms: 60_000 } });
    const after = await approve(visitor, plan, 'Approve all 4');
    expect([after.status, after.text]).toEqual([200, expect.stringContaining('Under way.')]);
    expect((await visitor.send(after.path)).headers.get('refresh')).toBe('2');
  });

  it('of more than a thousand people is shown in pages, and rejected as a whole', async () => {
    const { visitor, storage } = await openHeld();
    await addToPlan(storage.database.kysely, 1200);
    let page = await visitor.visit('/plans/1');
    const seen = boxesIn(page);
    for (;;) {
      const next = page.html.querySelector('a[rel=next]')?.getAttribute('href');
      if (next === undefined) break;
      page = await visitor.visit(next);
      seen.push(...boxesIn(page));
    }
    expect(new Set(seen).size).toBe(1204);
    const rejected = await visitor.press(page, 'Reject all 1204');
    expect(rejected.text).toContain('Rejected');
    expect(rejected.text).toContain('1004 more are not listed.');
  });

  it('says what a person would lose, and what they keep', async () => {
    const { visitor, customer, quiet } = await openHeld('vera');
    expect((await visitor.visit('/plans/1')).text.match(/\| access \| Why/g)).toHaveLength(4);
    await customer.link('street-lamps');
    await quiet();
    const text = (await visitor.visit('/plans/1')).text;
    expect(text.match(/\| access; stays in 1 other project/g)).toHaveLength(4);
  });

  it('gives a viewer the names, and nothing to send', async () => {
    const { visitor, hired } = await openHeld('vera');
    const plan = await visitor.visit('/plans/1');
    expect(plan.text).toContain(hired[0]?.trainers[0]?.opentrainUserId);
    expect(plan.html.querySelectorAll('main form, main button, main input')).toEqual([]);
  });
});
