import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { releaseDoubted } from '../../src/memberships/ownership-store.ts';
import { newLogin } from '../support/doccano-facts.ts';
import { doccanoAdapter } from '../support/doccano-harness.ts';
import {
  actAs,
  addRow,
  assignExamples,
  createUser,
  importExamples,
  labelAndConfirm,
  makeLabel,
  openProject,
} from '../support/doccano-site.ts';
import { until } from '../support/until.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';
import { openLoop, readWork, wantReading } from './loop.ts';
import { openToolFront, type ToolFront } from './tool-front.ts';

/** Whose an id is in a doccano that really runs, and was restored from an older backup. */

let server: DoccanoServer | null = null;
let front: ToolFront;

beforeAll(async () => {
  front = await openToolFront();
  server = await openDoccano();
  if (server !== null) front.leadTo(server.url);
});
afterAll(async () => {
  await server?.stop();
  await front.stop();
});

describe(`a restored doccano ${doccanoVersion}`, () => {
  it('keeps the employee who got the id of a trainer, and the trainer is in again', async ({ skip }) => {
    if (server === null) return skip();
    const { admin, project } = await openProject(server, 'signs');
    const examples = await importExamples(admin, project, ['one', 'two']);
    const label = await makeLabel(admin, project, 'good');
    const adapter = doccanoAdapter({ ...server, url: front.url });
    const { journey, hire, end } = await openLoop(adapter, project);
    await server.backUp();
    const [ada] = await hire('ada');
    const before = await ada.membership();
    expect(before.state).toBe('active');

    server = await server.restore();
    front.leadTo(server.url);
    const login = newLogin();
    const again = await actAs(server, server.admin);
    await createUser(again, login);
    const erin = await actAs(server, login);
    expect(String(erin.id)).toBe(before.memberId);
    await addRow(again, project, erin.id);
    await assignExamples(again, project, erin.id, examples);
    await labelAndConfirm(erin, project, examples[0] ?? 0, label);

    await wantReading(journey);
    const isInAgain = ({ state, memberId }: typeof before) =>
      state === 'active' && memberId !== null && memberId !== before.memberId;
    const after = await until('the trainer is in again', () => ada.membership(), isInAgain);
    await journey.quiet();
    expect(await readWork(journey)).not.toMatchObject([{ tasks: 1 }]);
    const invitation = await ada.invitation();
    if (invitation?.kind !== 'password') throw new Error('the invitation has no password');
    const adas = await actAs(server, invitation);
    expect(String(adas.id)).toBe(after.memberId);

    await end(ada);
    expect(await adas.call('GET', `/projects/${project}`)).toMatchObject({ status: 403 });
    expect(await erin.call('GET', `/projects/${project}`)).toMatchObject({ status: 200 });
    // doccano does not say when an account was made: an operator has to say whose it is.
    expect(await ada.membership()).toMatchObject({ state: 'failed' });
    const [{ id = 0 } = {}] = await journey.memberships();
    const by = { actor: 'ops', at: journey.clock.now().toISOString() };
    expect(await releaseDoubted(journey.storage, id, by)).toBe('let_go');
    await journey.quiet();
    // One look is not enough.
    await journey.pass(60_000);
    await journey.quiet();
    expect(await ada.membership()).toMatchObject({ state: 'removed' });
    expect(await erin.call('GET', `/projects/${project}`)).toMatchObject({ status: 200 });
  });
});
