import { expect, it } from 'vitest';
import { type Journey, openJourney, untilWorkIsRead } from '../../support/journey.ts';
import { addProject, annotate, regions } from '../../support/label-studio/at-work.ts';
import { type FakeLabelStudio, openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

describeAnyDialect('a trainer who signed up by the link that serves all trainers', (dialect) => {
  async function open() {
    let now = () => new Date();
    const fake = await openFakeLabelStudio(() => now());
    const journey = await openJourney(dialect, { adapter: createLabelStudio(fake) });
    now = journey.clock.now;
    const project = await addProject(fake, 'Street signs', 4);
    await journey.customer.link(String(project.id));
    return { fake, journey, project };
  }

  function hire({ sandbox, customer: { jobId } }: Journey) {
    const { contractId, trainers } = sandbox.hire({ jobId });
    return { contractId, email: trainers[0]?.workEmail ?? '' };
  }

  async function signUp(fake: FakeLabelStudio, email: string) {
    const link = `${fake.url}/user/signup/?token=${fake.users.inviteToken()}`;
    const session = await fake.signUp(link, email, 'Lantern-44-heron');
    if (session === null) throw new Error('the form refuses them');
    return session;
  }

  /** A trainer who was invited is looked for at each full hour, which is not to come within the next minutes. */
  async function leaveEndOfHour({ clock, pass }: Journey) {
    const leftMs = 3_600_000 - (clock.now().getTime() % 3_600_000);
    if (leftMs < 300_000) await pass(leftMs + 1000);
  }

  const consumed = ({ sandbox }: Journey, contractId: string) =>
    sandbox.snapshot().contracts.find(({ id }) => id === contractId)?.budget.consumed;

  const messages = async ({ storage }: Journey) =>
    (await storage.database.kysely.selectFrom('receipt').selectAll().orderBy('id').execute()).map(
      ({ operation, outcome, message }) => [`${operation} ${outcome}`, message],
    );

  it('is paid for their work, though the contract ends before Gangway looked', async () => {
    const { fake, journey, project } = await open();
    await leaveEndOfHour(journey);
    const { contractId, email } = hire(journey);
    await journey.quiet();
    await untilWorkIsRead(journey);
    const session = await signUp(fake, email);
    const [one = 0, two = 0] = project.tasks;
    await annotate(session, one, { lead_time: 60, result: regions('a', 'b', 'c') });
    await annotate(session, two, { lead_time: 47, result: regions('a', 'b') });
    journey.clock.advance(107_000);
    expect(await journey.memberships()).toMatchObject([{ state: 'invited' }]);
    journey.sandbox.endContract(contractId);
    await journey.quiet();
    expect(fake.users.byEmail(email)).toBeUndefined();
    expect(await messages(journey)).toEqual([
      ['add invited', null],
      ['remove removed', null],
    ]);
    const wanted = { seconds: 107, tasks: 2, labels: 5 };
    const reported = await until(
      'the work is reported',
      async () => consumed(journey, contractId),
      (reported) => reported?.seconds === wanted.seconds,
    );
    expect(reported).toMatchObject(wanted);
  });

  it('is noticed when work is read, with one list for all', async () => {
    const { fake, journey } = await open();
    const hired = Array.from({ length: 12 }, () => hire(journey));
    await journey.quiet();
    for (const { email } of hired.slice(0, 5)) await signUp(fake, email);
    const lists = () => fake.requests.filter((line) => line === 'GET /api/users/').length;
    const before = lists();
    // The end of another has the work of the group read.
    journey.sandbox.endContract(hired[11]?.contractId ?? '');
    await journey.quiet();
    const states = (await journey.memberships()).map(({ state }) => state);
    expect(states.filter((state) => state === 'active')).toHaveLength(5);
    // One for all who wait, at each of two readings, and one for the trainer who was taken out.
    expect(lists() - before).toBeLessThanOrEqual(3);
  });

  it('is looked for on the hour, with one list for all who wait', async () => {
    const { fake, journey } = await open();
    for (let n = 0; n < 12; n += 1) hire(journey);
    await journey.quiet();
    const lists = () => fake.requests.filter((line) => line === 'GET /api/users/').length;
    const before = lists();
    const nextLooks = async () => (await journey.memberships()).map(({ nextAttemptAt }) => nextAttemptAt ?? '').sort();
    const [first = ''] = await nextLooks();
    await journey.pass(3_600_000);
    // All were looked for. None need be listed for it: a list of some seconds ago will do.
    expect((await nextLooks())[0]).toBe(new Date(Date.parse(first) + 3_600_000).toISOString());
    // Work may have been read meanwhile, for which they are looked for too.
    expect(lists() - before).toBeLessThanOrEqual(2);
  });

  it('is removed with a note if their work could not be read', async () => {
    const { fake, journey, project } = await open();
    const { contractId, email } = hire(journey);
    await journey.quiet();
    const session = await signUp(fake, email);
    await annotate(session, project.tasks[0] ?? 0, { lead_time: 60, result: regions('a') });
    // To the end: else it is by chance whether it is read before the removal.
    fake.faults.begin('work', { does: 'answers', status: 503 });
    journey.sandbox.endContract(contractId);
    const { kysely } = journey.storage.database;
    const wanted = () => kysely.selectFrom('awaitedReading').selectAll().execute();
    await until('their work is wanted', wanted, (rows) => rows.length === 1);
    journey.clock.advance(5 * 60_000);
    const cleared = () => kysely.selectFrom('removal').selectAll().execute();
    await until('it is not waited for', cleared, (rows) => rows.length === 1);
    const look = async () => {
      // No time passes while a call is under way: it would outlive its lease.
      await journey.quiet();
      journey.clock.advance(60_000);
      return await messages(journey);
    };
    await until('they are out', look, (said) => said.at(-1)?.[0] === 'remove removed');
    expect((await messages(journey)).at(-1)).toEqual([
      'remove removed',
      expect.stringMatching(
        /^Gangway could not read the trainer's work before the removal, since .*may not be reported$/,
      ),
    ]);
  });
});
