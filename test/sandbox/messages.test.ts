import { describe, expect, it } from 'vitest';
import { updates } from '../../src/marketplace/contract/events.ts';
import { messages, messaging } from '../../src/marketplace/contract/messages.ts';
import { refusals } from '../../src/marketplace/contract/refusals.ts';
import { openAccount } from './account-harness.ts';
import { toCalls } from './manual-harness.ts';
import { never } from './sandbox-harness.ts';

type World = Awaited<ReturnType<typeof openHired>>;

/** An account with a contract, and a clock that only `wait` moves. */
async function openHired(wanted: Parameters<typeof openAccount>[0] = {}) {
  let now = new Date('2026-03-15T12:00:00.000Z');
  const world = await openAccount(wanted, { clock: { now: () => now } });
  const { contractId, trainers } = world.sandbox.hire({ jobId: world.jobId });
  const [{ opentrainUserId: trainerId, workEmail } = never()] = trainers;
  const wait = (ms: number): void => {
    now = new Date(now.getTime() + ms);
  };
  return { ...world, call: toCalls(world), conversationId: `dm_${contractId}`, contractId, trainerId, workEmail, wait };
}

const ids = (records: { id: string }[]) => records.map(({ id }) => id);

/** The trainer writes so many messages, a second apart. @returns their ids */
function write({ sandbox, conversationId, wait }: World, count: number): string[] {
  return Array.from({ length: count }, () => {
    wait(1000);
    return sandbox.writeMessage(conversationId).messageId;
  });
}

describe('the messages of a conversation', () => {
  it('are sent by both sides, and the feed says which the trainer wrote', async () => {
    const { call, sandbox, conversationId, jobId, trainerId } = await openHired();
    const sent = await call(messages.send, { conversationId, body: 'Welcome' });
    const [{ ownerUserId } = never()] = sandbox.snapshot().accounts;
    expect([sent.status, sent.body.message]).toMatchObject([
      201,
      { senderUserId: ownerUserId, body: 'Welcome', attachments: [] },
    ]);
    const { messageId } = sandbox.writeMessage(conversationId, { body: 'Thanks' });
    const { body } = await call(messages.list, { conversationId });
    expect(body.messages).toMatchObject([
      { id: messageId, senderUserId: trainerId, body: 'Thanks' },
      sent.body.message,
    ]);
    const { events } = (await call(updates.list)).body;
    const data = { conversationId, messageId };
    expect(events.slice(1)).toMatchObject([{ type: 'message.received', resourceId: messageId, jobId, data }]);
  });

  it('are read in both directions, page by page', async () => {
    const world = await openHired();
    const { call, conversationId } = world;
    const all = write(world, 5);
    async function walk(direction: string) {
      const pages: string[][] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const input = { conversationId, direction, limit: 2, ...(cursor && { cursor }) };
        const { body } = await call(messages.list, input);
        pages.push(ids(body.messages));
        cursor = body.nextCursor;
      }
      return pages;
    }
    expect(await walk('newer')).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
    const back = all.toReversed();
    expect(await walk('older')).toEqual([back.slice(0, 2), back.slice(2, 4), back.slice(4)]);
    for (const wrong of [{ cursor: 'msg_x' }, { direction: 'up' }, { limit: 101 }]) {
      expect((await call(messages.list, { conversationId, ...wrong })).status).toBe(400);
    }
  });

  it('show nothing of what was deleted or hidden', async () => {
    const world = await openHired();
    const { call, sandbox, conversationId } = world;
    const [deleted = '', hidden = '', ofHiddenSender = ''] = write(world, 3);
    sandbox.setMessageState(deleted, { state: 'DELETED' });
    sandbox.setMessageState(hidden, { state: 'HIDDEN' });
    sandbox.setMessageState(ofHiddenSender, { state: 'SENDER_HIDDEN' });
    const { body } = await call(messages.list, { conversationId });
    expect(body.messages).toMatchObject([
      { id: hidden, body: null },
      { id: deleted, body: null, attachments: [] },
    ]);
  });

  it.each([
    'employer_first_message_required',
    'message_policy_blocked',
    'read_only_conversation',
    'message_blocked',
  ] as const)('are refused with %s while the conversation is so', async (refusal) => {
    const { call, sandbox, conversationId } = await openHired();
    sandbox.restrictConversation(conversationId, { refusal });
    const { status, body } = await call(messages.send, { conversationId, body: 'Hello' });
    const [expected] = refusals[refusal];
    expect([status, body.code, body.details.reason]).toEqual([
      expected,
      expected === 403 ? 'FORBIDDEN' : 'CONFLICT',
      refusal,
    ]);
    expect(body.details.policy).toBe(refusal === 'message_policy_blocked' ? 'contact_details' : undefined);
    sandbox.restrictConversation(conversationId, { refusal: null });
    expect((await call(messages.send, { conversationId, body: 'Hello' })).status).toBe(201);
  });

  it('need a claimed account to be sent, a scope, and a conversation of the account', async () => {
    const { call, conversationId, sandbox } = await openHired({ isClaimed: false });
    const { status, body } = await call(messages.send, { conversationId, body: 'Hello' });
    expect([status, body.details.reason]).toEqual([403, 'account_claim_required']);
    const { token: narrow } = sandbox.createAccount({ scopes: ['messages:read'] });
    expect((await call(messages.send, { conversationId, body: 'Hello' }, narrow)).body.details.requiredScopes).toEqual([
      'messages:write',
    ]);
    const { token } = sandbox.createAccount();
    expect((await call(messages.send, { conversationId, body: 'Hello' }, token)).status).toBe(404);
    expect((await call(messages.list, { conversationId }, token)).status).toBe(404);
    expect((await call(messages.send, { conversationId, body: '' }, token)).status).toBe(400);
  });
});

describe('conversations', () => {
  it('are listed with the latest activity first, 20 a page', async () => {
    const world = await openHired();
    const { call, sandbox, jobId, conversationId } = world;
    const others = Array.from({ length: 20 }, () => `dm_${sandbox.hire({ jobId }).contractId}`);
    write(world, 1);
    const { body: first } = await call(messages.conversations);
    expect(ids(first.conversations)).toEqual([conversationId, ...others.slice(0, 19)]);
    const { body: last } = await call(messages.conversations, { cursor: first.nextCursor });
    expect([ids(last.conversations), last.nextCursor]).toEqual([others.slice(19), null]);
  });

  it('of a job are found by kind, participant, change and unanswered message', async () => {
    const world = await openHired();
    const { call, sandbox, jobId, conversationId, contractId, trainerId, wait } = world;
    const later = sandbox.hire({ jobId });
    const { conversationId: channel } = sandbox.openChannel(jobId, { participants: [trainerId] });
    const [question] = write(world, 1);
    const list = async (input: object = {}) =>
      (await call(messaging.conversations, { jobId, ...input })).body.conversations;
    const row = (await list()).find((one: { id: string }) => one.id === conversationId);
    expect(row).toMatchObject({
      id: conversationId,
      contextType: 'job_dm',
      participants: [{}, { userId: trainerId }],
      contractStatus: 'active',
      latestWorkerMessageId: question,
      latestEmployerResponseId: null,
      needsEmployerReply: true,
    });
    const second = `dm_${later.contractId}`;
    expect(ids(await list()).sort()).toEqual([conversationId, second, channel].sort());
    expect(ids(await list({ contextType: 'channel' }))).toEqual([channel]);
    expect(ids(await list({ participantUserId: trainerId })).sort()).toEqual([conversationId, channel].sort());
    expect(ids(await list({ updatedAfter: '2026-03-15T12:00:00Z' }))).toEqual([conversationId]);
    expect(ids(await list({ needsEmployerReply: true }))).toEqual([conversationId]);
    wait(1000);
    const { body } = await call(messages.send, { conversationId, body: 'Yes' });
    expect(await list({ needsEmployerReply: true })).toEqual([]);
    expect((await list({ updatedAfter: '2026-03-15T12:00:01Z' }))[0]).toMatchObject({
      latestEmployerResponseId: body.message.id,
      latestActivityAt: body.message.sentAt,
    });
    sandbox.endContract(contractId);
    expect((await list({ contextType: 'job_dm', participantUserId: trainerId }))[0].contractStatus).toBe('ended');
    expect((await call(messaging.conversations, { jobId: 'job_unknown' })).status).toBe(404);
    const { token } = sandbox.createAccount();
    expect((await call(messaging.conversations, { jobId }, token)).status).toBe(403);
  });
});

describe('the members of a conversation', () => {
  it('are listed, with those who left only if that is asked', async () => {
    const { call, sandbox, conversationId, contractId, trainerId } = await openHired();
    sandbox.replaceParticipant(contractId, { leaves: trainerId, joins: { opentrainUserId: 'usr_new' } });
    const list = async (input: object = {}) => (await call(messaging.members, { conversationId, ...input })).body;
    const { members, hasMore } = await list();
    expect([members, hasMore]).toMatchObject([
      [{ role: 'EMPLOYER' }, { userId: 'usr_new', contractId, role: 'FREELANCER', removedAt: null }],
      false,
    ]);
    const { members: all } = await list({ includeRemoved: true });
    expect(all.slice(2)).toMatchObject([{ userId: trainerId, removedAt: '2026-03-15T12:00:00.000Z' }]);
    const first = await list({ limit: 1 });
    expect([first.hasMore, (await list({ limit: 1, cursor: first.nextCursor })).hasMore]).toEqual([true, false]);
  });

  it('show managed addresses only if asked, with the scope, and while the trainer shares it', async () => {
    const { call, sandbox, conversationId, trainerId, workEmail } = await openHired();
    const list = async (input: object, token?: string) => {
      const { body } = await call(messaging.members, { conversationId, ...input }, token);
      return body.members.map((one: { workEmail?: string }) => one.workEmail);
    };
    expect(await list({ includeWorkEmail: true })).toEqual([undefined, workEmail]);
    expect(await list({})).toEqual([undefined, undefined]);
    sandbox.setWorkEmail(trainerId, { isShared: false });
    expect(await list({ includeWorkEmail: true })).toEqual([undefined, undefined]);
  });

  it('are found by exactly one selector', async () => {
    const { call, sandbox, conversationId, jobId, contractId, trainerId, workEmail } = await openHired();
    const other = sandbox.hire({ jobId });
    const find = async (input: object) => (await call(messaging.member, { conversationId, ...input })).body;
    for (const selector of [{ userId: trainerId }, { contractId }, { workEmail }]) {
      expect(await find(selector)).toMatchObject({ membership: { userId: trainerId, contractId } });
    }
    for (const selector of [{ userId: 'usr_x' }, { contractId: other.contractId }, { workEmail: 'x@example.com' }]) {
      expect(await find(selector)).toEqual({ membership: 'none' });
    }
    for (const selector of [{}, { userId: trainerId, contractId }, { workEmail: 'x' }]) {
      expect((await call(messaging.member, { conversationId, ...selector })).status).toBe(400);
    }
  });

  it('of a channel are inspected with who could be added or removed', async () => {
    const { call, sandbox, jobId, trainerId } = await openHired();
    const [{ opentrainUserId: outside } = never()] = sandbox.hire({ jobId }).trainers;
    const { conversationId } = sandbox.openChannel(jobId, { participants: [trainerId] });
    const preflight = async (userId: string) => {
      const { body } = await call(messaging.member, { conversationId, userId });
      return [body.membership === 'none', body.preflight];
    };
    const [{ ownerUserId = '' } = {}] = sandbox.snapshot().accounts;
    expect(await preflight(trainerId)).toEqual([false, { canAdd: false, canRemove: true }]);
    expect(await preflight(ownerUserId)).toEqual([false, { canAdd: false, canRemove: false }]);
    expect(await preflight(outside)).toEqual([true, { canAdd: true, canRemove: false }]);
    expect(await preflight('usr_unknown')).toEqual([true, { canAdd: false, canRemove: false }]);
  });

  it('need a claimed account with the feature', async () => {
    const { call, sandbox, conversationId, jobId } = await openHired();
    const reads = [
      [messaging.members, { conversationId }],
      [messaging.member, { conversationId, userId: 'usr_x' }],
      [messaging.conversations, { jobId }],
      [messages.emailAudit, { jobId, messageIds: 'a' }],
    ] as const;
    const { token: unclaimed } = sandbox.createAccount({ isClaimed: false });
    const { token: without } = sandbox.createAccount({ featuresOff: ['public_api_messaging'] });
    for (const [operation, input] of reads) {
      expect((await call(operation, input, unclaimed)).body.details.reason).toBe('account_claim_required');
      expect((await call(operation, input, without)).body.details.featureKey).toBe('public_api_messaging');
    }
  });
});

describe('the audit of mail', () => {
  it('says for messages what was observed, and for which nothing was', async () => {
    const world = await openHired();
    const { call, sandbox, jobId, conversationId, trainerId } = world;
    const [first = '', second = '', third = ''] = write(world, 3);
    sandbox.observeMail(jobId, {
      messageId: first,
      recipientUserId: trainerId,
      recipient: 'ann@example.com',
      bccCount: 2,
    });
    sandbox.observeMail(jobId, { messageId: second, status: 'DELIVERED' });
    sandbox.observeMail(jobId, { messageId: second, status: 'DELIVERED', isComplained: true });
    const ofMessages = await call(messages.emailAudit, { jobId, messageIds: [first, second, third].join() });
    expect(ofMessages.body).toMatchObject({
      observations: [
        { messageId: first, status: 'SENT', recipient: 'a***@example.com', bccCount: 2, complainedAt: null },
        { messageId: second, status: 'DELIVERED', complainedAt: '2026-03-15T12:00:03.000Z' },
      ],
      unobservedMessageIds: [third],
      nextCursor: null,
    });
    const range = { since: '2026-03-15T12:00:02Z', until: '2026-03-20T00:00:00Z' };
    const ofRange = (await call(messages.emailAudit, { jobId, conversationId, ...range, limit: 1 })).body;
    expect([ofRange.observations, ofRange.unobservedMessageIds]).toMatchObject([[{ messageId: second }], [third]]);
    const { id: other } = sandbox.createJob({ accountId: world.accountId });
    expect((await call(messages.emailAudit, { jobId: other, messageIds: first })).body.unobservedMessageIds).toEqual([
      first,
    ]);
  });

  it('says for a milestone what its recipients got', async () => {
    const { call, sandbox, jobId } = await openHired();
    for (const recipientUserId of ['usr_a', 'usr_b']) {
      sandbox.observeMail(jobId, {
        milestoneId: 'mst_1',
        recipientUserId,
        recipient: `${recipientUserId}@example.com`,
      });
    }
    const audit = async (input: object) =>
      (await call(messages.emailAudit, { jobId, milestoneId: 'mst_1', ...input })).body;
    expect((await audit({})).observations).toHaveLength(2);
    expect((await audit({ recipientUserId: 'usr_b' })).observations).toMatchObject([
      { messageId: null, recipient: 'u***@example.com' },
    ]);
  });

  const range = { conversationId: 'dm_x', since: '2026-03-01T00:00:00Z' };
  it.each<[string, object]>([
    ['no selector', {}],
    ['two selectors', { messageIds: 'a', milestoneId: 'b' }],
    ['half a range', range],
    ['32 days', { ...range, until: '2026-04-02T00:00:00Z' }],
    ['a range backwards', { ...range, until: '2026-02-01T00:00:00Z' }],
    ['a recipient alone', { recipientUserId: 'a' }],
    ['51 messages', { messageIds: Array.from({ length: 51 }, (_, at) => `m${at}`).join() }],
    ['101 a page', { messageIds: 'a', limit: 101 }],
  ])('refuses %s', async (_what, input) => {
    const { call, jobId } = await openHired();
    expect((await call(messages.emailAudit, { jobId, ...input })).status).toBe(400);
  });
});
