import { describe, expect, it } from 'vitest';
import { views } from '../../../src/http/console/serve-pages.ts';
import { sqlite } from '../../support/databases.ts';
import { openEmployerJourney, readEveryMs } from '../../support/employer-journey.ts';
import { openFrontDoor } from '../../support/front-door.ts';
import { consoleTokens, type Visitor } from '../../support/visitor.ts';
import { actsIn, openSignedIn, outcomeOf, type SignedIn, signIn } from './signed-in.ts';

const fields = { install: 'beta', tool: 'list', projects: 'beta-*' };

async function connectBeta({ sandbox, visitor, quiet }: SignedIn) {
  const { installId, token } = sandbox.createInstall();
  const { id: job } = sandbox.createJob({ installId });
  const page = await visitor.press(await visitor.visit('/connect'), 'Connect', { ...fields, token });
  // Its first reading is over before anything else is asked for at the same moment of a stopped clock.
  await quiet();
  return { token, job, page };
}

async function link(visitor: Visitor, project: string, job: string) {
  return await visitor.press(await visitor.visit('/installs/beta'), 'Link the project', { project, job });
}

describe('the installs', () => {
  it('may be called as the page is that connects them', async () => {
    const journey = await openSignedIn('otto', { projects: ['acme-*'] });
    const { visitor } = journey;
    expect((await visitor.visit('/installs/connect')).path).toBe('/connect');
    const { token } = journey.sandbox.createInstall();
    const given = { ...fields, install: 'connect', token };
    const page = await visitor.press(await visitor.visit('/connect'), 'Connect', given);
    expect(page).toMatchObject({ status: 200, path: expect.stringMatching(/^\/started\//) });
    expect((await visitor.visit('/installs/connect')).text).toContain('Customers / connect');
    await journey.quiet();
  });

  it('are connected and linked without the command line, and a trainer gets in', async () => {
    const journey = await openSignedIn('otto', { projects: ['acme-*'] });
    const { visitor } = journey;
    const { token, job, page } = await connectBeta(journey);
    expect(page).toMatchObject({ status: 200, path: expect.stringMatching(/^\/started\//) });
    expect(page.body).not.toContain(token);
    await journey.quiet();
    await link(visitor, 'beta-1', job);
    await journey.quiet();
    expect((await visitor.visit('/installs/beta')).text).toContain(`beta-1 |`);
    journey.sandbox.hire({ jobId: job });
    await visitor.press(await visitor.visit('/installs/beta'), 'Sync now');
    await journey.quiet();
    expect(journey.roster()['beta-1']).toHaveLength(1);
    const origin = expect.stringMatching(/^console .*127\.0\.0\.1$/);
    expect(await actsIn(journey)).toMatchObject([
      { action: 'connect', actor: 'otto', origin, before: null, after: 'tool list, projects beta-*' },
      { action: 'reconcile', subject: 'beta', actor: 'otto', origin },
      { action: 'links add', actor: 'otto', origin, before: null, after: `project beta-1, job ${job}` },
      { action: 'reconcile', subject: 'beta', actor: 'otto', origin },
    ]);
  });

  it("may be an employer's own account, whose jobs are named on the page", async () => {
    const journey = await openEmployerJourney(sqlite, { connects: 'unknown' });
    const { sandbox, quiet, roster, pass } = journey;
    const { accountId, token } = sandbox.createAccount();
    const { id: job } = sandbox.createJob({ accountId });
    const { visitor } = await signIn(journey, 'otto');
    const typed = { ...fields, token, jobs: `${job}=beta-1, ${job}=beta-2` };
    const refused = await visitor.press(await visitor.visit('/connect'), 'Connect', typed);
    expect(refused.text).toContain('Jobs can be named only for your own account');
    expect(refused.body).toContain(`${job}=beta-1, ${job}=beta-2`);
    const page = await visitor.press(await visitor.visit('/connect'), 'Connect', { ...typed, source: 'employer' });
    expect(page).toMatchObject({ status: 200, path: expect.stringMatching(/^\/started\//) });
    expect(page.text).toContain('The token has more scopes than Gangway needs');
    expect(page.body).not.toContain(token);
    await quiet();
    const { trainers } = sandbox.hire({ jobId: job });
    await pass(readEveryMs);
    const people = [trainers[0]?.opentrainUserId];
    expect(roster()).toEqual({ 'beta-1': people, 'beta-2': people });
  });

  it('are not kept with a wrong token, and the page says so without the token', async () => {
    const journey = await openSignedIn('otto', { projects: ['acme-*'] });
    const { visitor } = journey;
    const token = 'ot_ptk_wrong-token-of-beta';
    const page = await visitor.press(await visitor.visit('/connect'), 'Connect', { ...fields, token });
    expect(page.status).toBe(401);
    expect(page.text).toContain('Ask the customer for a new token');
    expect(page.body).not.toContain(token);
    expect((await visitor.visit('/installs/beta')).status).toBe(404);
    expect(await actsIn(journey)).toEqual([]);
  });

  it('lose a link and are removed only after a page that says what will happen', async () => {
    const journey = await openSignedIn('otto', { projects: ['acme-*'] });
    const { visitor } = journey;
    const { job } = await connectBeta(journey);
    await link(visitor, 'beta-1', job);
    await journey.quiet();
    const install = await visitor.visit('/installs/beta');
    const unlinking = install.html.querySelector('a[href*="/do/linksRemove"]')?.getAttribute('href') ?? '';
    const question = await visitor.visit(unlinking);
    expect(question.text).toContain('leaves after the grace period');
    expect((await visitor.press(question, 'Remove')).path).toBe('/installs/beta');
    const ask = (await visitor.visit('/installs/beta')).html.querySelector('a[href*="/do/installsRemove"]');
    const removal = await visitor.visit(ask?.getAttribute('href') ?? '');
    expect(removal.text).toContain('its people stay in the tools');
    expect((await visitor.press(removal, 'Remove')).path).toBe('/installs');
    expect((await visitor.visit('/installs/beta')).status).toBe(404);
    expect((await actsIn(journey)).slice(3)).toMatchObject([
      { action: 'links remove', before: `project beta-1, job ${job}` },
      { action: 'installs remove', subject: 'beta', before: 'tool list, projects beta-*' },
    ]);
  });

  it('get a new secret for their webhook endpoint, and events go on', async () => {
    const address = await openFrontDoor();
    const receiver = { publicUrl: address.url };
    const journey = await openSignedIn('otto', { projects: ['acme-*'], receiver });
    const { visitor } = journey;
    address.leadTo(journey.receiverUrl);
    const { token, job } = await connectBeta(journey);
    await link(visitor, 'beta-1', job);
    await journey.quiet();
    const size = () => journey.roster()['beta-1']?.length ?? 0;
    const hire = async () => {
      journey.sandbox.hire({ jobId: job });
      await journey.quiet();
    };
    await hire();
    expect(size()).toBe(1);

    const endpoints = () => journey.storage.database.kysely.selectFrom('webhookEndpoint').selectAll().execute();
    const [old] = await endpoints();
    const question = await visitor.visit('/do/endpointRotate?install=beta&back=/installs/beta');
    expect(question.text).toContain('without a gap');
    const rotated = await outcomeOf(visitor, await visitor.press(question, 'Rotate'));
    expect(rotated.status).toBe(200);
    const stored = await endpoints();
    expect(stored).toMatchObject([{ install: 'beta' }]);
    expect(stored[0]?.endpointId).not.toBe(old?.endpointId);
    const origin = expect.stringMatching(/^console /);
    const change = { before: old?.endpointId, after: stored[0]?.endpointId };
    expect((await actsIn(journey)).slice(3)).toMatchObject([
      { action: 'endpoint rotate', subject: 'beta', actor: 'otto', origin, ...change },
    ]);
    expect(rotated.body).not.toMatch(new RegExp(`whsec_|${token}`));
    // It comes by the new endpoint alone, as this install is hardly ever read.
    await hire();
    expect(size()).toBe(2);
  });
});

describe('the pages', () => {
  it('show no secret, and the doctor says what was found', async () => {
    const { visitor, customer } = await openSignedIn('otto');
    const asked = await visitor.press(await visitor.visit('/doctor'), 'Check everything now');
    const report = await outcomeOf(visitor, asked);
    expect(report.text).toContain('tool list | Reachable, settings valid');
    const secrets = [customer.token, customer.secret, ...Object.values(consoleTokens).map(({ token }) => token)];
    for (const { path } of views) {
      const { body } = await visitor.visit(path.replace(':install', 'acme').replaceAll(/:\w+/g, '1'));
      for (const secret of secrets) expect([path, body.includes(secret)]).toEqual([path, false]);
    }
  });
});
