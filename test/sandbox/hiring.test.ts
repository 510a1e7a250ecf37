import { expect, it } from 'vitest';
import { approvals, contracts } from '../../src/marketplace/contract/contracts.ts';
import { freelancers, proposals } from '../../src/marketplace/contract/hiring.ts';
import { drafts, jobs } from '../../src/marketplace/contract/jobs.ts';
import type { Reason } from '../../src/marketplace/contract/refusals.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { type AccountWorld, hourMs, openAccount, refusalIn } from './account-harness.ts';

type Wanted = Partial<Parameters<Sandbox['propose']>[0]>;

const interview = {
  score: 91,
  summary: 'Knows signs',
  messages: [
    { role: 'interviewer' as const, content: 'Where can I see your work?' },
    {
      role: 'candidate' as const,
      content: 'Write to ana@example.com or https://ana.example, +351 912 345 678. 2 years.',
    },
  ],
};

async function openProposed(wanted: Wanted = {}, account: Parameters<typeof openAccount>[0] = {}) {
  const world = await openAccount(account);
  const { proposalId, trainer } = world.sandbox.propose({ jobId: world.jobId, ...wanted });
  const hire = (input: object = {}) => world.ask(proposals.hire, { proposalId, ...input });
  return { ...world, proposalId, trainer, hire };
}

it('lists proposals for a job, newest first, and shows one', async () => {
  const { sandbox, ask, jobId, proposalId, trainer, listEvents } = await openProposed({
    coverLetter: 'Hello',
    interview,
  });
  const { proposalId: second } = sandbox.propose({ jobId, isNotFit: true });
  const { body: page } = await ask(jobs.proposals, { jobId, limit: 1 });
  expect(page.proposals).toMatchObject([
    { id: second, status: 'NOT_FIT', aiInterview: { transcriptAvailable: false } },
  ]);
  const { body: rest } = await ask(jobs.proposals, { jobId, cursor: page.nextCursor });
  const { body } = await ask(proposals.get, { proposalId });
  expect(rest.proposals).toEqual([body.proposal]);
  expect(body.proposal).toMatchObject({
    id: proposalId,
    jobId,
    status: 'PENDING',
    coverLetter: 'Hello',
    rateUsd: 20,
    freelancer: { userId: trainer.opentrainUserId, displayName: trainer.displayName, country: 'PT' },
    aiInterview: { transcriptAvailable: true, score: 91 },
  });
  expect(await listEvents()).toEqual([
    ['proposal.received', { proposalId, jobId }],
    ['proposal.received', { proposalId: second, jobId }],
  ]);
});

it('shows the transcript of an interview without contact details, or says that there is none', async () => {
  const { ask, proposalId, sandbox, jobId } = await openProposed({ interview });
  const { body } = await ask(proposals.interview, { proposalId });
  expect(body.interview).toMatchObject({ proposalId, score: 91, summary: 'Knows signs' });
  expect(body.interview.messages.map(({ role, content }: Record<string, string>) => [role, content])).toEqual([
    ['interviewer', 'Where can I see your work?'],
    ['candidate', 'Write to [removed] or [removed] [removed]. 2 years.'],
  ]);
  const { proposalId: silent } = sandbox.propose({ jobId });
  const none = await ask(proposals.interview, { proposalId: silent });
  expect([none.status, none.body.details]).toEqual([404, { proposalId: silent }]);
});

it.each([proposals.get, proposals.interview, proposals.conversation, proposals.hire])(
  'refuses $address for an unknown proposal and that of another account',
  async (operation) => {
    const { ask, sandbox, proposalId } = await openProposed({ interview });
    expect((await ask(operation, { proposalId: 'prp_unknown' })).status).toBe(404);
    const { token } = sandbox.createAccount();
    expect((await ask(operation, { proposalId }, { token })).status).toBe(403);
  },
);

it('starts a conversation once, when the AI interview is over', async () => {
  const { ask, sandbox, jobId, proposalId } = await openProposed();
  const { body } = await ask(proposals.conversation, { proposalId });
  expect(body).toEqual({ conversationId: `dm_${proposalId}`, created: true });
  expect((await ask(proposals.conversation, { proposalId })).body).toEqual({ ...body, created: false });
  const going = sandbox.propose({ jobId, interview: { score: null, messages: [] } });
  const refused = await ask(proposals.conversation, { proposalId: going.proposalId });
  expect(refusalIn(refused)).toEqual([409, 'proposal_not_ready_for_messaging']);
});

it('hires when a person confirms, which starts the contract', async () => {
  const { ask, sandbox, jobId, proposalId, trainer, hire, listEvents } = await openProposed({ rateUsd: 31 });
  const asked = await hire();
  expect(asked.status).toBe(202);
  const { id: approvalId, ...approval } = asked.body.approval;
  const none = { contractId: null, milestoneId: null, resolvedAt: null, result: null };
  expect(approval).toMatchObject({ type: 'proposal_hire', status: 'pending', jobId, proposalId, ...none });
  expect(approval.approvalUrl).toContain(approvalId);
  expect(Date.parse(approval.expiresAt) - Date.parse(approval.createdAt)).toBeLessThanOrEqual(72 * hourMs);
  const { id: secondId } = (await hire()).body.approval;
  expect(secondId).not.toBe(approvalId);
  expect((await ask(contracts.list)).body.contracts).toEqual([]);

  sandbox.resolveApproval(approvalId, 'confirmed');
  expect(() => sandbox.resolveApproval(secondId, 'confirmed')).toThrow('was hired before');
  const [contract, ...others] = (await ask(contracts.list)).body.contracts;
  expect(others).toEqual([]);
  expect(contract).toMatchObject({ jobId, proposalId, status: 'active', rateUsd: 31 });
  expect(contract.freelancer.userId).toBe(trainer.opentrainUserId);
  const { body } = await ask(approvals.get, { approvalId });
  const { id: contractId } = contract;
  expect(body.approval).toMatchObject({ status: 'confirmed', contractId, result: { contractId } });
  expect(body.approval.resolvedAt).not.toBeNull();
  expect((await ask(proposals.get, { proposalId })).body.proposal.status).toBe('ACCEPTED');
  expect(refusalIn(await hire())).toEqual([409, 'already_accepted']);
  expect((await listEvents()).slice(1)).toEqual([
    ['contract.created', { contractId, jobId, proposalId }],
    ['proposal.status_changed', { proposalId, status: 'ACCEPTED' }],
    ['approval.confirmed', { approvalId, status: 'confirmed' }],
  ]);
});

it.each(['declined', 'expired'] as const)(
  'does not hire if the approval is %s, and may be asked again',
  async (status) => {
    const { ask, sandbox, hire, wait, listEvents } = await openProposed();
    const { id: approvalId } = (await hire()).body.approval;
    if (status === 'declined') sandbox.resolveApproval(approvalId, status);
    else wait(72 * hourMs);
    const { body } = await ask(approvals.get, { approvalId });
    expect([body.approval.status, body.approval.result]).toEqual([status, null]);
    expect((await ask(contracts.list)).body.contracts).toEqual([]);
    expect((await listEvents()).at(-1)).toEqual(['approval.confirmed', { approvalId, status }]);
    expect(() => sandbox.resolveApproval(approvalId, 'confirmed')).toThrow(status);
    expect((await hire()).body.approval.id).not.toBe(approvalId);
  },
);

type World = Awaited<ReturnType<typeof openProposed>>;

const refused: [Reason, Wanted, (world: World) => unknown][] = [
  ['account_claim_required', {}, () => undefined],
  ['payment_method_required', {}, ({ sandbox, accountId }) => sandbox.setAccount(accountId, { hasCard: false })],
  [
    'already_accepted',
    {},
    async ({ sandbox, hire }) => sandbox.resolveApproval((await hire()).body.approval.id, 'confirmed'),
  ],
  ['not_fit_confirmation_required', { isNotFit: true }, () => undefined],
  ['job_not_published', {}, ({ ask, jobId }) => ask(jobs.close, { jobId })],
  ['not_a_freelancer', { refusal: 'not_a_freelancer' }, () => undefined],
  ['freelancer_unavailable', { refusal: 'freelancer_unavailable' }, () => undefined],
];

it.each(refused)('refuses to hire: %s', async (reason, wanted, prepare) => {
  const world = await openProposed(wanted, { isClaimed: reason !== 'account_claim_required' });
  await prepare(world);
  const { status, body } = await world.hire();
  expect([status, body.details.reason]).toEqual([reason === 'account_claim_required' ? 403 : 409, reason]);
  const address = { account_claim_required: 'claimUrl', payment_method_required: 'billingUrl' }[String(reason)];
  if (address !== undefined) expect(body.details[address]).toMatch(/^https:/);
  if (reason === 'not_fit_confirmation_required') {
    expect((await world.hire({ confirmNotFitOverride: true })).status).toBe(202);
  }
});

it('takes proposals only for a published job of an account', async () => {
  const { ask, sandbox } = await openAccount();
  const { jobId } = (await ask(drafts.create, { rawJobDescription: 'Signs' })).body;
  expect(() => sandbox.propose({ jobId })).toThrow('not published');
  const { installId } = sandbox.createInstall();
  expect(() => sandbox.propose({ jobId: sandbox.createJob({ installId }).id })).toThrow('No account');
});

it('shows the public profile of a freelancer by id or slug', async () => {
  const { ask, trainer }: AccountWorld & Pick<World, 'trainer'> = await openProposed();
  const { body } = await ask(freelancers.get, { idOrSlug: trainer.opentrainUserId });
  expect(body.freelancer).toMatchObject({ userId: trainer.opentrainUserId, displayName: trainer.displayName });
  expect((await ask(freelancers.get, { idOrSlug: body.freelancer.slug })).body).toEqual(body);
  expect((await ask(freelancers.get, { idOrSlug: 'nobody' })).status).toBe(404);
});
