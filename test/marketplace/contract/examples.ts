import type { Answered, Fields, Party } from './parties.ts';

/** What each operation is called with, and what is made for it first. */

const draft = {
  jobTitle: 'Label street scenes',
  jobDescription: 'Draw boxes around cars.',
  paymentType: 'PAY_PER_HOUR',
  pricePerHour: 20,
  experienceLevel: 'ANY_EXPERIENCE_LEVEL',
  dataVolumeUnit: 'NUMBER_OF_FILES',
  dataVolume: 100,
  headcount: 2,
  languages: ['English'],
  countries: ['PT'],
  labelTypes: ['BOUNDING_BOX'],
};

export const jobOf = ({ sandbox, accountId }: Party): string => sandbox.createJob({ accountId }).id;
export const contractOf = (party: Party): string => party.sandbox.hire({ jobId: jobOf(party) }).contractId;
export const proposalOf = (party: Party, more = {}): string =>
  party.sandbox.propose({
    jobId: jobOf(party),
    interview: { messages: [{ role: 'candidate', content: 'I know signs' }] },
    ...more,
  }).proposalId;

export async function draftOf({ ask }: Party): Promise<string> {
  const { jobId } = await ask('drafts.create', { rawJobDescription: 'Label signs' });
  await ask('drafts.update', { jobId, ...draft });
  return jobId;
}

export async function milestoneOf(party: Party): Promise<string> {
  const { ask } = party;
  const { milestone } = await ask('contracts.createMilestone', { contractId: contractOf(party), name: 'M', volume: 1 });
  return milestone.id;
}

function fundedOf(party: Party): string {
  return party.sandbox.fundMilestone(contractOf(party)).milestone.id;
}

export function manualOf({ sandbox, accountId }: Party) {
  const bindings = [{ targetId: sandbox.createJob({ accountId }).id }];
  const { manualId, pageIds } = sandbox.createManual(accountId, {
    bindings,
    pages: [{ title: 'Cars' }, { title: 'Signs' }],
  });
  return { manualId, pageId: String(pageIds[0]) };
}

export const workspaceOf = ({ accountId }: Party): string => `wsp_${accountId}`;

function changesOf(party: Party): Fields {
  const { pageId } = manualOf(party);
  const operations = [{ kind: 'RENAME_PAGE', pageId, title: 'Vans' }];
  return { workspaceId: workspaceOf(party), description: 'A name', operations };
}

async function changesetOf(party: Party): Promise<string> {
  return (await party.ask('changesets.submit', changesOf(party))).changeset.id;
}

export function messageOf(party: Party, file = {}) {
  const conversationId = `dm_${contractOf(party)}`;
  const attachments = [{ contentBase64: Buffer.from('notes').toString('base64'), ...file }];
  const { messageId, attachmentIds } = party.sandbox.writeMessage(conversationId, { attachments });
  return { messageId, attachmentId: String(attachmentIds[0]), conversationId };
}

export async function registrationOf({ ask }: Party): Promise<Answered> {
  return await ask('identity.register', { agent_name: 'Scout' });
}

async function claimed(party: Party) {
  const { claim_token, grant_type } = await registrationOf(party);
  party.sandbox.claimAccount(String(party.sandbox.snapshot().accounts.at(-1)?.id));
  return { claim_token, grant_type };
}

const linkOf = async (party: Party, jobId = jobOf(party)): Promise<string> =>
  (await party.ask('project-links.create', { externalProjectId: `p ${jobId}`, jobId })).projectLink.id;

async function linkedContractOf(party: Party): Promise<Fields> {
  const jobId = jobOf(party);
  await linkOf(party, jobId);
  return { contractId: party.sandbox.hire({ jobId }).contractId };
}

const hook = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created'] };
const platformHook = { ...hook, eventTypes: ['contract.started'] };
const endpointOf = async ({ ask }: Party) => ({
  endpointId: (await ask('webhook-endpoints.create', platformHook)).webhookEndpoint.id,
});
const webhookOf = async ({ ask }: Party) => ({ webhookId: (await ask('webhooks.create', hook)).webhook.id });
const audit = (party: Party) => {
  const { messageId } = messageOf(party);
  const jobId = String(party.sandbox.snapshot().contracts.at(-1)?.jobId);
  return { jobId, messageIds: [messageId] };
};

type Make = (party: Party) => Fields | Promise<Fields>;

const none = () => ({});
const paged = () => ({ limit: 5 });
const ofManual: Make = (party) => ({ manualId: manualOf(party).manualId });
const ofWorkspace: Make = (party) => ({ workspaceId: workspaceOf(party) });
const ofChangeset: Make = async (party) => ({ changesetId: await changesetOf(party) });

async function publicationOf(party: Party): Promise<Fields> {
  const { manualId } = manualOf(party);
  party.sandbox.publishManual(manualId);
  return { manualId, publicationNumber: 1 };
}

async function approvedOf(party: Party): Promise<Fields> {
  const changesetId = await changesetOf(party);
  await party.ask('changesets.approve', { changesetId });
  return { changesetId };
}

export const examples: Readonly<Record<string, Make>> = {
  'identity.register': () => ({ agent_name: 'Scout', organization_name: 'Acme' }),
  'identity.claim': async (party) => ({ claim_token: (await registrationOf(party)).claim_token }),
  'identity.token': claimed,
  'identity.revoke': async ({ ask }) => ({ token: (await ask('tokens.create', {})).token }),

  'tokens.list': none,
  'tokens.create': () => ({ name: 'spare' }),
  'tokens.revoke': async ({ ask }) => ({ tokenId: (await ask('tokens.create', { name: 'spare' })).metadata.id }),
  'account.me': none,
  'openapi.get': none,
  'team.get': none,
  'team.invite': () => ({ email: 'ana@example.com' }),

  'drafts.create': () => ({ rawJobDescription: 'Label signs', idempotencyKey: 'one' }),
  'drafts.update': async (party) => ({ jobId: await draftOf(party), headcount: 3 }),
  'drafts.capabilities': none,
  'jobs.search': () => ({ q: 'street', limit: 5 }),
  'jobs.facets': none,
  'jobs.changes': () => ({ since: '2026-01-01T00:00:00Z' }),
  'jobs.mine': paged,
  'jobs.update': (party) => ({ jobId: jobOf(party), headcount: 3 }),
  'jobs.publish': async (party) => ({ jobId: await draftOf(party) }),
  'jobs.close': (party) => ({ jobId: jobOf(party) }),
  'jobs.invite': (party) => {
    const { trainer } = party.sandbox.propose({ jobId: jobOf(party) });
    return { jobId: jobOf(party), freelancerId: trainer.opentrainUserId };
  },
  'jobs.proposals': (party) => {
    const jobId = jobOf(party);
    party.sandbox.propose({ jobId });
    return { jobId };
  },
  'proposals.get': (party) => ({ proposalId: proposalOf(party) }),
  'proposals.interview': (party) => ({ proposalId: proposalOf(party) }),
  'proposals.conversation': (party) => ({ proposalId: proposalOf(party) }),
  'proposals.hire': (party) => ({ proposalId: proposalOf(party) }),
  'freelancers.get': (party) => ({
    idOrSlug: party.sandbox.propose({ jobId: jobOf(party) }).trainer.opentrainUserId,
  }),

  'contracts.list': (party) => {
    const jobId = jobOf(party);
    party.sandbox.hire({ jobId });
    return { jobId, status: 'active' };
  },
  'contracts.get': (party) => ({ contractId: contractOf(party) }),
  'contracts.createMilestone': (party) => ({ contractId: contractOf(party), name: 'First', volume: 2 }),
  'contracts.end': (party) => ({ contractId: contractOf(party) }),
  'milestones.fund': async (party) => ({ milestoneId: await milestoneOf(party) }),
  'milestones.approve': (party) => ({ milestoneId: fundedOf(party) }),
  'approvals.get': async (party) => {
    const { approval } = await party.ask('milestones.fund', { milestoneId: await milestoneOf(party) });
    return { approvalId: approval.id };
  },
  'credits.topUp': () => ({ amountUsd: 20 }),
  'credits.getTopUp': async ({ ask }) => ({ topUpId: (await ask('credits.topUp', { amountUsd: 20 })).topUpId }),
  'credits.balance': none,
  'credits.ledger': async ({ ask, sandbox }) => {
    sandbox.settlePayment((await ask('credits.topUp', { amountUsd: 20 })).topUpId);
    return { limit: 5 };
  },
  'payments.pending': (party) => {
    party.sandbox.billContract(contractOf(party));
    return {};
  },

  'webhooks.list': none,
  'webhooks.create': () => hook,
  'webhooks.get': webhookOf,
  'webhooks.delete': webhookOf,
  'updates.list': (party) => {
    contractOf(party);
    return { limit: 5 };
  },

  'messages.conversations': (party) => {
    messageOf(party);
    return { limit: 5 };
  },
  'messages.list': (party) => ({ conversationId: messageOf(party).conversationId, direction: 'older' }),
  'messages.send': (party) => ({ conversationId: messageOf(party).conversationId, body: 'Hello' }),
  'messages.attachment': (party) => {
    const { messageId, attachmentId } = messageOf(party);
    return { messageId, attachmentId };
  },
  'messages.emailAudit': audit,
  'messaging.members': (party) => ({ conversationId: messageOf(party).conversationId, includeWorkEmail: true }),
  'messaging.member': (party) => {
    const { conversationId } = messageOf(party);
    return { conversationId, contractId: conversationId.slice('dm_'.length), includeWorkEmail: true };
  },
  'messaging.conversations': (party) => ({ jobId: audit(party).jobId }),

  'instructions.capabilities': none,
  'workspaces.list': paged,
  'workspaces.create': () => ({ name: 'Second' }),
  'workspaces.get': ofWorkspace,
  'workspaces.rename': (party) => ({ workspaceId: workspaceOf(party), name: 'Other' }),
  'workspaces.archive': ofWorkspace,
  'permissions.list': ofWorkspace,
  'permissions.grant': (party) => ({ workspaceId: workspaceOf(party), principalId: 'usr_1', role: 'EDITOR' }),
  'permissions.revoke': async (party) => {
    const workspaceId = workspaceOf(party);
    await party.ask('permissions.grant', { workspaceId, principalId: 'usr_1', role: 'EDITOR' });
    return { workspaceId, principalId: 'usr_1' };
  },
  'manuals.list': ofWorkspace,
  'manuals.create': (party) => ({ workspaceId: workspaceOf(party), title: 'Dogs', audience: 'WORKER' }),
  'manuals.get': ofManual,
  'manuals.update': (party) => ({ manualId: manualOf(party).manualId, title: 'Cats' }),
  'manuals.archive': ofManual,
  'manuals.tree': ofManual,
  'manuals.revisions': ofManual,
  'manuals.diff': (party) => ({ manualId: manualOf(party).manualId, a: 1, b: 1 }),
  'manuals.restore': (party) => ({ manualId: manualOf(party).manualId, revisionNumber: 1 }),
  'pages.get': (party) => ({ pageId: manualOf(party).pageId, format: 'markdown' }),
  'changesets.validate': changesOf,
  'changesets.diff': changesOf,
  'changesets.apply': changesOf,
  'changesets.submit': changesOf,
  'changesets.list': async (party) => {
    await changesetOf(party);
    return { workspaceId: workspaceOf(party) };
  },
  'changesets.get': ofChangeset,
  'changesets.approve': ofChangeset,
  'changesets.reject': ofChangeset,
  'changesets.applyStored': approvedOf,
  'publications.list': publicationOf,
  'publications.create': (party) => ({
    manualId: manualOf(party).manualId,
    baseRevisionNumber: 1,
    audiences: ['WORKER'],
  }),
  'publications.manifest': publicationOf,

  'platform-openapi.get': none,
  'installs.current': none,
  'project-links.list': async (party) => {
    await linkOf(party);
    return {};
  },
  'project-links.create': (party) => ({ externalProjectId: 'streets', jobId: jobOf(party) }),
  'project-links.get': async (party) => ({ linkId: await linkOf(party) }),
  'project-links.delete': async (party) => ({ linkId: await linkOf(party) }),
  'platform-contracts.list': async (party) => {
    await linkedContractOf(party);
    return { status: 'active' };
  },
  'platform-contracts.participants': linkedContractOf,
  'platform-contracts.budget': linkedContractOf,
  'platform-contracts.usage': async (party) => ({
    ...(await linkedContractOf(party)),
    entries: [{ workDate: '2026-03-15', totalSeconds: 60 }],
  }),
  'webhook-endpoints.list': none,
  'webhook-endpoints.create': () => platformHook,
  'webhook-endpoints.get': endpointOf,
  'webhook-endpoints.update': async (party) => ({ ...(await endpointOf(party)), status: 'DISABLED' }),
  'webhook-endpoints.delete': endpointOf,
  'webhook-endpoints.redeliver': endpointOf,
};
