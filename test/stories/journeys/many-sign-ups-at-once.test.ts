import { expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import { asTimeGoesOn, type Journey, liveThrough, openJourney } from '../../support/journey.ts';
import { addProject } from '../../support/label-studio/at-work.ts';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const crowd = 20;

describeAnyDialect('many who are hired at once', (dialect) => {
  async function open(toolTimeout = '1s') {
    let clock: Clock | undefined;
    const fake = await openFakeLabelStudio(() => clock?.now() ?? new Date());
    const adapter = createLabelStudio(fake, { onboarding: 'sign_up' });
    const journey = await openJourney(dialect, { adapter, toolTimeout });
    clock = journey.clock;
    const project = await addProject(fake, 'Street signs', 1);
    await journey.customer.link(String(project.id));
    const { sandbox, customer } = journey;
    const hire = () => {
      for (let n = 0; n < crowd; n += 1) sandbox.hire({ jobId: customer.jobId });
    };
    const states = async () => (await journey.memberships()).map(({ state }) => state);
    const answers: string[] = [];
    fake.watch = (call) => void answers.push(call);
    const count = (answer: string) => answers.filter((one) => one === answer).length;
    return { fake, journey, hire, states, count };
  }

  it('are looked for in a few lists, and not in one for each', async () => {
    const { fake, journey, hire, states, count } = await open();
    // The tool is down until all of them are due.
    fake.faults.begin('read', { does: 'answers', status: 503 });
    hire();
    await until('all are due', states, ({ length }) => length === crowd);
    fake.faults.end();
    const before = count('GET /api/users/ → 200');
    const look = async () => {
      journey.clock.advance(1000);
      return await states();
    };
    await until('all are in', look, (seen) => seen.every((state) => state === 'active'));
    expect(fake.users.all()).toHaveLength(crowd + 1);
    expect(count('POST /user/signup/ → 302')).toBe(crowd);
    expect(count('GET /api/users/ → 200') - before).toBeLessThan(crowd / 2);
  });

  it('are added though answers are lost: an account that a lost call made is found and not made again', async () => {
    const { fake, journey, hire, states, count } = await open();
    // The account is made, and no answer says so.
    fake.faults.begin('add', { does: 'goes_silent' });
    hire();
    const users = asTimeGoesOn(journey, () => fake.users.all().length);
    await until('some were lost', users, (length) => length > 2);
    fake.faults.end();
    await untilAllAreIn(journey, states);
    expect(fake.users.all()).toHaveLength(crowd + 1);
    expect(count('POST /user/signup/ → 302')).toBe(crowd);
    // A trainer whose account was made by a try without an answer is invited too.
    const invitations = await journey.storage.database.kysely.selectFrom('invitation').selectAll().execute();
    expect(invitations).toHaveLength(crowd);
  });

  it('are added though the tool was paused before most had their turn: it is probed again', async () => {
    const { fake, journey, hire, states, count } = await open('500ms');
    // Sign-ups go unanswered, and the check of the tool, which tries the form too.
    fake.faults.begin('add', { does: 'goes_silent' });
    hire();
    const troubles = () => listTroubles(journey);
    await until('calls are paused', troubles, ({ length }) => length > 0);
    expect((await journey.memberships()).filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(crowd / 2);
    fake.faults.end();
    await untilAllAreIn(journey, states);
    expect(await troubles()).toEqual([]);
    expect(fake.users.all()).toHaveLength(crowd + 1);
    expect(count('POST /user/signup/ → 302')).toBe(crowd);
  });
});

function listTroubles({ storage }: Journey) {
  return storage.database.kysely.selectFrom('toolTrouble').selectAll().execute();
}

async function untilAllAreIn(journey: Journey, states: () => Promise<string[]>): Promise<void> {
  const { clock, storage } = journey;
  const look = async () => {
    const [trouble] = await listTroubles(journey);
    // No time passes while a call is under way: it would outlive its lease.
    if (trouble === undefined) {
      await journey.quiet();
      clock.advance(20_000);
    } else if ((await journey.memberships()).every(({ leaseToken }) => leaseToken === null)) {
      // What is due waits for the tool to be asked again, which nothing but time brings.
      const untilAskedMs = Date.parse(trouble.asksAgainAt) - clock.now().getTime();
      if (untilAskedMs > 0) await liveThrough(storage, clock, untilAskedMs);
    }
    return await states();
  };
  await until('all are in', look, (seen) => seen.length === crowd && seen.every((state) => state === 'active'));
}
