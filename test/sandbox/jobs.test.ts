import { expect, it } from 'vitest';
import { type DraftUpdate, drafts, jobs } from '../../src/marketplace/contract/jobs.ts';
import { type AccountWorld, hourMs, openAccount, refusalIn } from './account-harness.ts';

const ready: DraftUpdate = {
  jobTitle: 'Label signs',
  jobDescription: 'Draw a box around each sign.',
  experienceLevel: 'EXPERT',
  labelTypes: ['Bounding box'],
  paymentType: 'FIXED_PRICE',
  fixedPrice: 90,
  languages: ['en', 'pt'],
};

async function draft({ ask }: AccountWorld, fields: DraftUpdate = ready, token?: string): Promise<string> {
  const call = token === undefined ? {} : { token };
  const { jobId } = (await ask(drafts.create, { rawJobDescription: 'Signs' }, call)).body;
  await ask(drafts.update, { jobId, ...fields }, call);
  return jobId;
}

it('publishes a draft that is ready, once', async () => {
  const world = await openAccount();
  const jobId = await draft(world);
  const { status, body } = await world.ask(jobs.publish, { jobId });
  expect(status).toBe(200);
  expect(body).toMatchObject({ ok: true, jobId, status: 'OPEN', alreadyPublished: false });
  expect([body.publishAttemptId, body.sideEffects.dispatched]).toEqual([expect.stringMatching(/^pub_/), true]);
  const { body: again } = await world.ask(jobs.publish, { jobId });
  expect(again).toMatchObject({ status: 'OPEN', alreadyPublished: true, publishAttemptId: null });
  expect((await world.ask(drafts.update, { jobId, headcount: 2 })).status).toBe(409);
});

it('refuses to publish what is not ready, closed, or not its own', async () => {
  const world = await openAccount();
  const jobId = await draft(world, { jobTitle: 'Signs' });
  const { status, body } = await world.ask(jobs.publish, { jobId });
  expect([status, body.details.validation.publishReady]).toEqual([400, false]);
  expect(body.details.validation.missingFields).not.toEqual([]);
  await world.ask(jobs.close, { jobId: world.jobId });
  expect((await world.ask(jobs.publish, { jobId: world.jobId })).status).toBe(409);
  const foreign = world.sandbox.createJob({ accountId: world.sandbox.createAccount().accountId });
  for (const unknown of [foreign.id, 'job_unknown']) {
    for (const operation of [jobs.publish, jobs.close, jobs.proposals]) {
      expect((await world.ask(operation, { jobId: unknown })).status).toBe(404);
    }
  }
});

it('refuses to publish what moderation blocks, with its reasons, until it is changed', async () => {
  const world = await openAccount();
  const jobId = await draft(world, { ...ready, subjectMatter: 'Some Forbidden Content' });
  const blocked = await world.ask(jobs.publish, { jobId });
  expect(refusalIn(blocked)).toEqual([403, 'moderation_blocked']);
  expect(blocked.body.details.reasons).toEqual([expect.stringContaining('subjectMatter')]);
  await world.ask(drafts.update, { jobId, subjectMatter: 'Signs' });
  expect((await world.ask(jobs.publish, { jobId })).status).toBe(200);
});

it.each([
  [true, 20],
  [false, 3],
])('limits the jobs that an account (claimed: %s) publishes in 24 hours to %i', async (isClaimed, limit) => {
  const world = await openAccount({ isClaimed });
  const publish = async () => await world.ask(jobs.publish, { jobId: await draft(world) });
  for (let count = 1; count <= limit; count += 1) {
    expect((await publish()).status).toBe(200);
    if (count === 1) world.wait(hourMs);
  }
  const last = await draft(world);
  const { status, body } = await world.ask(jobs.publish, { jobId: last });
  expect([status, body.code, body.details]).toEqual([429, 'RATE_LIMITED', { limit, windowHours: 24 }]);
  const { headers } = await fetch(`${world.url}/api/public/v1/jobs/${last}/publish`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.token}` },
  });
  const waitMs = Number(headers.get('retry-after')) * 1000;
  expect(Math.round(waitMs / hourMs)).toBe(23);
  expect(['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`))).toEqual([String(limit), '0']);
  expect(headers.has('x-ratelimit-reset')).toBe(true);
  world.wait(waitMs);
  expect((await world.ask(jobs.publish, { jobId: last })).status).toBe(200);
  expect((await publish()).status).toBe(429);
});

it('shows published jobs to anyone, by text and payment, and counts them', async () => {
  const world = await openAccount();
  const hidden = await draft(world);
  const shown = await draft(world);
  await world.ask(jobs.publish, { jobId: shown });
  const list = async (input: object = {}) => {
    const { body } = await world.ask(jobs.search, input, { token: undefined });
    return body.jobs.map(({ id }: { id: string }) => id);
  };
  expect(await list()).toEqual([shown, world.jobId]);
  expect(await list({ q: 'BOX' })).toEqual([shown]);
  expect(await list({ paymentType: 'PAY_PER_HOUR' })).toEqual([world.jobId]);
  expect(await list()).not.toContain(hidden);
  const { body: page } = await world.ask(jobs.search, { limit: 1 });
  expect(page.jobs).toHaveLength(1);
  expect(await list({ limit: 1, cursor: page.nextCursor })).toEqual([world.jobId]);
  const { body } = await world.ask(jobs.facets, {}, { token: undefined });
  expect(body.facets).toMatchObject({
    paymentType: { PAY_PER_HOUR: 1, FIXED_PRICE: 1 },
    languages: { en: 1, pt: 1 },
    countries: {},
  });
});

it('lists the jobs that changed since an instant: published, updated and closed ones', async () => {
  const world = await openAccount();
  const { ask, wait, jobId } = world;
  const changed = async (since: string) => {
    const { body } = await ask(jobs.changes, { since }, { token: undefined });
    return body.jobs.map(({ id, status }: { id: string; status: string }) => [id, status]);
  };
  wait(hourMs);
  const made = await draft(world);
  const { updatedAt } = (await ask(jobs.mine)).body.jobs[0];
  wait(1000);
  expect(await changed(updatedAt)).toEqual([]);
  expect(await changed('2026-01-01T00:00:00Z')).toEqual([[jobId, 'OPEN']]);
  await ask(jobs.publish, { jobId: made });
  expect(await changed(updatedAt)).toEqual([[made, 'OPEN']]);
  await ask(jobs.close, { jobId });
  expect(await changed(updatedAt.replace('Z', '+00:00'))).toEqual([
    [jobId, 'CLOSED'],
    [made, 'OPEN'],
  ]);
  expect((await ask(jobs.changes, { since: 'yesterday' })).status).toBe(400);
});

it('updates a live job, and no draft', async () => {
  const world = await openAccount();
  const { ask, jobId } = world;
  const { body } = await ask(jobs.update, { jobId, jobTitle: 'Label lanes', paymentType: 'FIXED_PRICE' });
  expect(body.job).toMatchObject({ id: jobId, title: 'Label lanes', paymentType: 'FIXED_PRICE', status: 'OPEN' });
  expect((await ask(jobs.update, { jobId })).status).toBe(400);
  expect((await ask(jobs.update, { jobId, colour: 'red' })).body.details).toHaveProperty('formErrors');
  const refused = await ask(jobs.update, { jobId: await draft(world), headcount: 2 });
  expect(refusalIn(refused)).toEqual([409, 'job_not_published']);
});

it('closes a job, again and again', async () => {
  const { ask, jobId, wait } = await openAccount();
  const closed = await ask(jobs.close, { jobId });
  expect(closed.body.job).toMatchObject({ id: jobId, status: 'CLOSED' });
  wait(1000);
  expect(await ask(jobs.close, { jobId })).toEqual(closed);
  expect(refusalIn(await ask(jobs.update, { jobId, headcount: 2 }))).toEqual([409, 'job_not_published']);
  expect((await ask(jobs.search)).body.jobs).toEqual([]);
});

it('invites a trainer once, and nobody who cannot come', async () => {
  const world = await openAccount();
  const { ask, sandbox, jobId } = world;
  const propose = (refusal?: 'not_a_freelancer' | 'freelancer_unavailable') =>
    sandbox.propose({ jobId, ...(refusal && { refusal }) }).trainer.opentrainUserId;
  const freelancerId = propose();
  const { body } = await ask(jobs.invite, { jobId, freelancerId, message: 'Come' });
  expect(body).toEqual({ alreadyInvited: false, invite: { id: expect.any(String), createdAt: expect.any(String) } });
  const { body: again } = await ask(jobs.invite, { jobId, freelancerId });
  expect(again).toEqual({ ...body, alreadyInvited: true });
  for (const reason of ['not_a_freelancer', 'freelancer_unavailable'] as const) {
    expect(refusalIn(await ask(jobs.invite, { jobId, freelancerId: propose(reason) }))).toEqual([409, reason]);
  }
  expect((await ask(jobs.invite, { jobId, freelancerId: 'usr_unknown' })).status).toBe(404);
  const unpublished = await ask(jobs.invite, { jobId: await draft(world), freelancerId });
  expect(refusalIn(unpublished)).toEqual([409, 'job_not_published']);
  expect((await ask(jobs.invite, { jobId })).status).toBe(400);
});
