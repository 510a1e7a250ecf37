import { expect, it } from 'vitest';
import { team } from '../../src/marketplace/contract/account.ts';
import { approvals, contracts, credits, milestones, payments } from '../../src/marketplace/contract/contracts.ts';
import { hourMs, openAccount, refusalIn } from './account-harness.ts';

async function openHired() {
  const world = await openAccount();
  const { contractId } = world.sandbox.hire({ jobId: world.jobId });
  const make = async (amountUsd = 40, volume = 2) => {
    const { body } = await world.ask(contracts.createMilestone, { contractId, name: 'First', amountUsd, volume });
    return body.milestone.id as string;
  };
  const fund = (milestoneId: string) => world.ask(milestones.fund, { milestoneId });
  const approve = (milestoneId: string) => world.ask(milestones.approve, { milestoneId });
  const read = async () => (await world.ask(contracts.get, { contractId })).body.contract;
  return { ...world, contractId, make, fund, approve, read };
}

it('creates a milestone that is not funded, and counts it in no budget', async () => {
  const { ask, contractId, jobId, read, listEvents } = await openHired();
  const dueDate = '2027-01-01T00:00:00.000Z';
  const wanted = { contractId, name: 'First', description: 'All signs', amountUsd: 40, volume: 2, dueDate };
  const { status, body } = await ask(contracts.createMilestone, wanted);
  const { contractId: _, ...shown } = wanted;
  const fresh = {
    status: 'NOT_FUNDED',
    milestoneNumber: 1,
    pendingApproval: false,
    needsReview: false,
    invoiceId: null,
  };
  expect([status, body.milestone]).toEqual([
    201,
    { ...shown, ...fresh, id: expect.any(String), createdAt: expect.any(String) },
  ]);
  const { id: milestoneId } = body.milestone;
  const contract = await read();
  expect(contract.milestones).toEqual([body.milestone]);
  expect([contract.hasActiveMilestone, contract.budget.fundedVolume, contract.budget.activeMilestone]).toEqual([
    false,
    0,
    null,
  ]);
  expect((await listEvents()).at(-1)).toEqual([
    'milestone.status_changed',
    { milestoneId, contractId, status: 'NOT_FUNDED' },
  ]);
  expect(jobId).toBe(contract.jobId);
});

it.each([
  [{ volume: 3 }, { volume: 3, amountUsd: 60 }],
  [{ amountUsd: 60 }, { volume: 3, amountUsd: 60 }],
])('knows amount and volume of %j by the rate', async (wanted, shown) => {
  const { ask, contractId } = await openHired();
  const { body } = await ask(contracts.createMilestone, { contractId, name: 'First', ...wanted });
  expect(body.milestone).toMatchObject(shown);
});

it('refuses a milestone without an amount, of an unknown contract, or of an ended one', async () => {
  const { ask, sandbox, contractId } = await openHired();
  const create = (fields: object) =>
    ask(contracts.createMilestone, { contractId, name: 'First', amountUsd: 1, ...fields });
  expect((await create({ amountUsd: undefined })).body.details.field).toBe('amountUsd');
  expect((await create({ amountUsd: -1 })).status).toBe(400);
  expect((await create({ contractId: 'ctr_unknown' })).status).toBe(404);
  sandbox.endContract(contractId);
  expect(refusalIn(await create({}))).toEqual([409, 'contract_ended']);
});

it('funds and releases a milestone when a person confirms', async () => {
  const { ask, sandbox, contractId, make, fund, approve, read, listEvents } = await openHired();
  const milestoneId = await make();
  expect((await approve(milestoneId)).status).toBe(409);
  const asked = await fund(milestoneId);
  expect([asked.status, asked.body.approval]).toMatchObject([
    202,
    { type: 'milestone_fund', status: 'pending', contractId, milestoneId, proposalId: null, result: null },
  ]);
  const { id: approvalId } = asked.body.approval;
  const { id: secondId } = (await fund(milestoneId)).body.approval;
  expect(secondId).not.toBe(approvalId);

  sandbox.resolveApproval(approvalId, 'confirmed');
  expect(() => sandbox.resolveApproval(secondId, 'confirmed')).toThrow('The milestone is ACTIVE_FUNDED');
  const { approval } = (await ask(approvals.get, { approvalId })).body;
  const [milestone] = (await read()).milestones;
  expect(milestone).toMatchObject({ status: 'ACTIVE_FUNDED', invoiceId: approval.result.invoiceId });
  expect((await read()).budget).toMatchObject({ fundedVolume: 2, activeMilestone: { id: milestoneId } });
  expect((await fund(milestoneId)).status).toBe(409);

  const released = await approve(milestoneId);
  expect([released.status, released.body.approval.type]).toEqual([202, 'milestone_approve']);
  sandbox.resolveApproval(released.body.approval.id, 'confirmed');
  expect((await read()).milestones).toMatchObject([{ id: milestoneId, status: 'COMPLETED' }]);
  expect((await approve(milestoneId)).status).toBe(409);
  const said = (await listEvents()).flatMap(([, data]) => ('status' in data ? [data.status] : []));
  expect(said).toEqual(['NOT_FUNDED', 'ACTIVE_FUNDED', 'confirmed', 'COMPLETED', 'confirmed']);
});

it('funds nothing after 72 hours, or without a person', async () => {
  const { ask, make, fund, read, wait } = await openHired();
  const milestoneId = await make();
  const { id: approvalId } = (await fund(milestoneId)).body.approval;
  wait(72 * hourMs);
  expect((await ask(approvals.get, { approvalId })).body.approval.status).toBe('expired');
  expect((await read()).milestones).toMatchObject([{ status: 'NOT_FUNDED' }]);
  expect((await fund(milestoneId)).body.approval.id).not.toBe(approvalId);
});

it('funds from the credits where there is no card', async () => {
  const { ask, sandbox, accountId, make, fund } = await openHired();
  sandbox.setAccount(accountId, { hasCard: false });
  const milestoneId = await make(40);
  const refused = await fund(milestoneId);
  expect(refused.body.details).toEqual({
    reason: 'payment_method_required',
    billingUrl: 'https://app.opentrain.ai/billing',
  });
  const { topUpId } = (await ask(credits.topUp, { amountUsd: 50.5 })).body;
  sandbox.settlePayment(topUpId);
  const first = await fund(milestoneId);
  const other = await fund(await make(40));
  sandbox.resolveApproval(first.body.approval.id, 'confirmed');
  expect((await ask(credits.balance)).body).toEqual({ balanceUsd: 10.5, balanceCents: 1050, currency: 'USD' });
  expect((await ask(credits.ledger)).body.entries).toMatchObject([
    { type: 'CHARGE', amountCents: -4000 },
    { type: 'TOP_UP', amountCents: 5050 },
  ]);
  const { body: page } = await ask(credits.ledger, { limit: 1 });
  expect([page.entries.length, page.nextCursor]).toEqual([1, '1']);
  // The credits are spent, so this one stays pending.
  expect(() => sandbox.resolveApproval(other.body.approval.id, 'confirmed')).toThrow('credits');
  const { approval } = (await ask(approvals.get, { approvalId: other.body.approval.id })).body;
  expect(approval.status).toBe('pending');
});

it('neither funds nor finds milestones of ended contracts and of other accounts', async () => {
  const { ask, sandbox, contractId, make, fund } = await openHired();
  const milestoneId = await make();
  const { token } = sandbox.createAccount();
  for (const operation of [milestones.fund, milestones.approve]) {
    expect((await ask(operation, { milestoneId }, { token })).status).toBe(404);
    expect((await ask(operation, { milestoneId: 'mst_unknown' })).status).toBe(404);
  }
  const { id } = (await fund(milestoneId)).body.approval;
  sandbox.endContract(contractId);
  expect(refusalIn(await fund(milestoneId))).toEqual([409, 'contract_ended']);
  expect(() => sandbox.resolveApproval(id, 'confirmed')).toThrow('ended');
});

it('tops up the credits when a person pays at the checkout', async () => {
  const { ask, sandbox } = await openAccount();
  const { status, body } = await ask(credits.topUp, { amountUsd: 25 });
  const { topUpId, checkoutUrl, topUp, expiresAt } = body;
  expect([status, topUp]).toMatchObject([
    201,
    { id: topUpId, status: 'PENDING', amountCents: 2500, completedAt: null },
  ]);
  expect(checkoutUrl).toContain(topUpId);
  expect(Math.round((Date.parse(expiresAt) - Date.parse(topUp.createdAt)) / hourMs)).toBe(24);
  expect((await ask(credits.balance)).body.balanceCents).toBe(0);
  sandbox.settlePayment(topUpId);
  const { body: paid } = await ask(credits.getTopUp, { topUpId });
  expect(paid).toEqual({ ...topUp, status: 'COMPLETED', completedAt: expect.any(String) });
  expect(() => sandbox.settlePayment(topUpId)).toThrow('paid before');
  expect((await ask(credits.balance)).body.balanceUsd).toBe(25);
});

it('takes no payment after 24 hours, and shows no top-up of another account', async () => {
  const { ask, sandbox, wait } = await openAccount();
  const { topUpId } = (await ask(credits.topUp, { amount: 10 })).body;
  const { token } = sandbox.createAccount();
  const hidden = await ask(credits.getTopUp, { topUpId }, { token });
  expect([hidden.status, hidden.body.details.topUpId]).toEqual([404, topUpId]);
  wait(24 * hourMs);
  expect(() => sandbox.settlePayment(topUpId)).toThrow('expired');
});

it.each([{}, { amountUsd: 9.99 }, { amountUsd: 10_001 }, { amountUsd: '50' }, { amount: 'much' }])(
  'refuses a top-up of %j',
  async (input) => {
    const { ask } = await openAccount();
    const { status, body } = await ask(credits.topUp, input);
    expect([status, body.details.field]).toEqual([400, 'amountUsd']);
  },
);

it('lists what a person must pay', async () => {
  const { ask, sandbox, contractId, jobId } = await openHired();
  const { id } = sandbox.billContract(contractId, { amountUsd: 7 });
  expect((await ask(payments.pending)).body.payments).toMatchObject([
    { id, status: 'PENDING_FUNDING', invoiceKind: 'FUNDING', viewerRole: 'EMPLOYER', amountUsd: 7, job: { id: jobId } },
  ]);
});

it('shows the team, and invites people to it', async () => {
  const { ask, sandbox } = await openAccount({ name: 'Acme' });
  sandbox.createAccount({ ownerEmail: 'bo@example.com' });
  const invite = async (email: string) => (await ask(team.invite, { email })).body.status;
  expect([await invite('ana@example.com'), await invite('ana@example.com')]).toEqual([
    'invite_created',
    'invite_created',
  ]);
  expect([await invite('bo@example.com'), await invite('bo@example.com')]).toEqual(['member_added', 'already_member']);
  expect(await invite('employer@example.com')).toBe('already_member');
  const { organization, members, invites } = (await ask(team.get)).body.team;
  expect(organization).toMatchObject({ name: 'Acme', ownerUserId: members[0].userId, ownerName: members[0].name });
  expect(members.map(({ role, email }: Record<string, string>) => [role, email])).toEqual([
    ['OWNER', 'employer@example.com'],
    ['MEMBER', 'bo@example.com'],
  ]);
  expect(invites).toMatchObject([{ email: 'ana@example.com' }]);
});

it('refuses a team that is off, a mail that cannot be sent, and no address', async () => {
  const { ask, sandbox, accountId } = await openAccount();
  expect(refusalIn(await ask(team.invite, { email: 'ana@nowhere.invalid' }))).toEqual([
    409,
    'invite_email_send_failed',
  ]);
  expect((await ask(team.invite, { email: 'ana' })).status).toBe(400);
  sandbox.setAccount(accountId, { featuresOff: ['public_api_team'] });
  expect((await ask(team.get)).body.details).toEqual({ featureKey: 'public_api_team' });
  sandbox.setAccount(accountId, { featuresOff: [], hasTeam: false });
  for (const [operation, input] of [
    [team.get, {}],
    [team.invite, { email: 'ana@example.com' }],
  ] as const) {
    expect(refusalIn(await ask(operation, input))).toEqual([403, 'teams_not_enabled']);
  }
});
