import { attachmentReasons, conflictCodes } from '../../../src/marketplace/contract/refusals.ts';
import {
  contractOf,
  draftOf,
  examples,
  jobOf,
  manualOf,
  messageOf,
  milestoneOf,
  proposalOf,
  registrationOf,
  workspaceOf,
} from './examples.ts';
import type { Fields, Party } from './parties.ts';

/** What leads to each refusal with a reason: what is called, by operation and reason. */

type Make = (party: Party) => Fields | Promise<Fields>;

const hireOf =
  (more: object, before: (party: Party) => unknown = () => undefined): Make =>
  async (party) => {
    const proposalId = proposalOf(party, more);
    await before(party);
    return { proposalId };
  };

const refusedTrainer =
  (refusal: 'not_a_freelancer' | 'freelancer_unavailable'): Make =>
  (party) => {
    const { trainer } = party.sandbox.propose({ jobId: jobOf(party), refusal });
    return { jobId: jobOf(party), freelancerId: trainer.opentrainUserId };
  };

const withoutCard = ({ sandbox, accountId }: Party) => sandbox.setAccount(accountId, { hasCard: false });

const sendOf =
  (refusal: Parameters<Party['sandbox']['restrictConversation']>[1]['refusal']): Make =>
  (party) => {
    const { conversationId } = messageOf(party);
    party.sandbox.restrictConversation(conversationId, { refusal });
    return { conversationId, body: 'Hello' };
  };

const ended = (party: Party): string => {
  const contractId = contractOf(party);
  party.sandbox.endContract(contractId);
  return contractId;
};

const poll =
  (change: (registered: Fields, party: Party) => Fields | Promise<Fields>): Make =>
  async (party) => {
    const { claim_token, grant_type } = await registrationOf(party);
    return { claim_token, grant_type, ...(await change({ claim_token, grant_type }, party)) };
  };

const dayMs = 24 * 3_600_000;
const afterADay: Make = ({ clock }) => {
  clock.advance(dayMs);
  return {};
};

const ofMessages = Object.fromEntries(
  attachmentReasons.map((reason): [string, Make] => [
    `messages.attachment ${reason}`,
    (party) => {
      const { messageId, attachmentId } = messageOf(party, { refusal: reason });
      return { messageId, attachmentId };
    },
  ]),
);

/** Operations that conflict, by code. */
const conflicts: Record<
  (typeof conflictCodes)[number],
  (party: Party, ids: { manualId: string; pageId: string }) => Fields[]
> = {
  REVISION_MISMATCH: (_, { pageId }) => [
    { kind: 'PATCH_CONTENT', pageId, baseRevisionNumber: 9, ops: [{ op: 'append_children', nodeId: null, nodes: [] }] },
  ],
  CHECKSUM_MISMATCH: (_, { pageId }) => [
    {
      kind: 'PATCH_CONTENT',
      pageId,
      baseRevisionNumber: 1,
      baseChecksum: 'other',
      ops: [{ op: 'append_children', nodeId: null, nodes: [] }],
    },
  ],
  NODE_NOT_FOUND: (_, { pageId }) => [
    { kind: 'PATCH_CONTENT', pageId, baseRevisionNumber: 1, ops: [{ op: 'delete_node', nodeId: 'n9', nodes: [] }] },
  ],
  PAGE_NOT_FOUND: () => [{ kind: 'RENAME_PAGE', pageId: 'pg_unknown', title: 'A' }],
  MANUAL_NOT_FOUND: () => [{ kind: 'CREATE_PAGE', manualId: 'mnl_unknown', clientPageKey: 'a', title: 'A' }],
  PARENT_NOT_FOUND: (_, { pageId }) => [{ kind: 'MOVE_PAGE', pageId, parentId: 'pg_unknown' }],
  PAGE_ARCHIVED: (_, { manualId, pageId }) => [
    { kind: 'ARCHIVE_PAGE', pageId },
    { kind: 'CREATE_PAGE', manualId, clientPageKey: 'a', title: 'A', parentId: pageId },
  ],
  DEPTH_EXCEEDED: (_, { manualId }) =>
    Array.from({ length: 9 }, (_, depth) => ({
      kind: 'CREATE_PAGE',
      manualId,
      clientPageKey: `p${depth}`,
      title: 'A',
      ...(depth > 0 && { parentId: `new:p${depth - 1}` }),
    })),
  TREE_CYCLE: (_, { pageId }) => [{ kind: 'MOVE_PAGE', pageId, parentId: pageId }],
  DUPLICATE_CLIENT_KEY: (_, { manualId }) => [
    { kind: 'CREATE_PAGE', manualId, clientPageKey: 'a', title: 'A' },
    { kind: 'CREATE_PAGE', manualId, clientPageKey: 'a', title: 'B' },
  ],
  AUDIENCE_INVALID: (_, { pageId }) => [{ kind: 'SET_AUDIENCE', pageId, audience: 'ALL' }],
  ASSET_NOT_READY: (_, { pageId }) => [{ kind: 'ATTACH_ASSET', pageId, assetId: 'ast_unknown' }],
  SCHEMA_INVALID: (_, { manualId }) => [
    { kind: 'CREATE_PAGE', manualId, clientPageKey: 'a', title: 'A', content: { type: 'video' } },
  ],
  REPLACE_NOT_CONFIRMED: (_, { pageId }) => [
    { kind: 'REPLACE_CONTENT', pageId, baseRevisionNumber: 1, content: { type: 'doc', content: [] } },
  ],
};

const changesThatConflict = (code: keyof typeof conflicts) => (party: Party) => {
  const operations = conflicts[code](party, manualOf(party));
  return { workspaceId: workspaceOf(party), operations };
};

const ofChangesets = Object.fromEntries(
  conflictCodes.flatMap((code): [string, Make][] => [
    [`changesets.apply ${code}`, changesThatConflict(code)],
    [
      `changesets.applyStored ${code}`,
      async (party) => {
        const { changeset } = await party.ask('changesets.submit', changesThatConflict(code)(party));
        await party.ask('changesets.approve', { changesetId: changeset.id });
        return { changesetId: changeset.id };
      },
    ],
  ]),
);

export const situations: Readonly<Record<string, Make>> = {
  'identity.register unsupported_identity_type': () => ({ identity_type: 'person' }),
  'identity.register anonymous_not_enabled': ({ sandbox }) => {
    sandbox.setRegistration({ refusal: 'anonymous_not_enabled' });
    return {};
  },
  'identity.register rate_limit_exceeded': ({ sandbox }) => {
    sandbox.setRegistration({ refusal: 'rate_limit_exceeded' });
    return {};
  },
  'identity.claim invalid_grant': () => ({ claim_token: 'ot_clm_unknown' }),
  'identity.claim expired_token': poll((_, party) => afterADay(party)),
  'identity.claim invalid_request': () => ({ claim_token: 7 }),
  'identity.token authorization_pending': poll(() => ({})),
  'identity.token slow_down': poll(async (registered, { ask }) => {
    await ask('identity.token', registered).catch(() => undefined);
    return {};
  }),
  'identity.token expired_token': poll((_, party) => afterADay(party)),
  'identity.token invalid_grant': poll(() => ({ claim_token: 'ot_clm_unknown' })),
  'identity.token invalid_request': poll(() => ({ claim_token: 7 })),
  'identity.token unsupported_grant_type': poll(() => ({ grant_type: 'password' })),
  'identity.revoke invalid_request': () => ({ token: 7 }),

  'team.get teams_not_enabled': ({ sandbox, accountId }) => {
    sandbox.setAccount(accountId, { hasTeam: false });
    return {};
  },
  'team.invite teams_not_enabled': ({ sandbox, accountId }) => {
    sandbox.setAccount(accountId, { hasTeam: false });
    return { email: 'ana@example.com' };
  },
  'team.invite invite_email_send_failed': () => ({ email: 'ana@nowhere.invalid' }),

  'jobs.update job_not_published': async (party) => ({ jobId: await draftOf(party), headcount: 3 }),
  'jobs.publish moderation_blocked': async (party) => {
    const jobId = await draftOf(party);
    await party.ask('drafts.update', { jobId, labelingOverview: 'forbidden content' });
    return { jobId };
  },
  'jobs.invite job_not_published': async (party) => ({
    ...(await examples['jobs.invite']?.(party)),
    jobId: await draftOf(party),
  }),
  'jobs.invite not_a_freelancer': refusedTrainer('not_a_freelancer'),
  'jobs.invite freelancer_unavailable': refusedTrainer('freelancer_unavailable'),

  'proposals.conversation proposal_not_ready_for_messaging': hireOf({ interview: { score: null, messages: [] } }),
  'proposals.hire payment_method_required': hireOf({}, withoutCard),
  'proposals.hire already_accepted': async (party) => {
    const proposalId = proposalOf(party);
    const { approval } = await party.ask('proposals.hire', { proposalId });
    party.sandbox.resolveApproval(approval.id, 'confirmed');
    return { proposalId };
  },
  'proposals.hire not_fit_confirmation_required': hireOf({ isNotFit: true }),
  'proposals.hire job_not_published': async (party) => {
    const proposalId = proposalOf(party);
    const { proposal } = await party.ask('proposals.get', { proposalId });
    await party.ask('jobs.close', { jobId: proposal.jobId });
    return { proposalId };
  },
  'proposals.hire not_a_freelancer': hireOf({ refusal: 'not_a_freelancer' }),
  'proposals.hire freelancer_unavailable': hireOf({ refusal: 'freelancer_unavailable' }),

  'contracts.createMilestone contract_ended': (party) => ({ contractId: ended(party), name: 'Late', volume: 1 }),
  'contracts.end contract_ended': (party) => ({ contractId: ended(party) }),
  'milestones.fund payment_method_required': async (party) => {
    const milestoneId = await milestoneOf(party);
    withoutCard(party);
    return { milestoneId };
  },
  'milestones.fund contract_ended': async (party) => {
    const milestoneId = await milestoneOf(party);
    party.sandbox.endContract(String(party.sandbox.snapshot().contracts.at(-1)?.id));
    return { milestoneId };
  },

  'messages.send employer_first_message_required': sendOf('employer_first_message_required'),
  'messages.send message_policy_blocked': sendOf('message_policy_blocked'),
  'messages.send read_only_conversation': sendOf('read_only_conversation'),
  'messages.send message_blocked': sendOf('message_blocked'),
  ...ofMessages,
  'messages.attachment MESSAGE_ID_REQUIRED': (party) => ({ ...messageOf(party), messageId: ' ' }),
  'messages.attachment INVALID_MESSAGE_ID': (party) => ({ ...messageOf(party), messageId: 'm'.repeat(129) }),
  'messages.attachment INVALID_ATTACHMENT_ID': (party) => ({ ...messageOf(party), attachmentId: 'notes' }),
  'messages.attachment INVALID_DELIVERY': (party) => ({ ...messageOf(party), delivery: 'pigeon' }),
  ...ofChangesets,
};
