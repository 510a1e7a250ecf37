import { expect } from 'vitest';
import {
  anyList,
  anyRecord,
  type Exchange,
  has,
  instant,
  like,
  limitHeaders,
  on,
  onEach,
  type Step,
  times,
} from './exchange.ts';

/** What sections 4.1 to 4.5, 5 and 7 of part A, and `employer-api.md` (E), say. */

const token = 'id name preview scopes status organizationId createdAt lastUsedAt expiresAt revokedAt';
const validation = 'publishReady issueCount missingFieldCount missingFields issues';

const identity = 'POST /api/agent/identity';
const registration =
  'identity_type registration_id access_token token_type scopes claim_token claim_token_expires_at claim_endpoint' +
  ' token_endpoint grant_type';

const onIdentity = [
  on('an empty object registers', identity, { as: 'none', body: {} }, 200, {
    fields: { '': registration },
    values: {
      ...{ identity_type: 'anonymous', access_token: like(/^ot_pat_/), token_type: 'bearer' },
      scopes: ['jobs:read', 'jobs:write', 'proposals:read', 'messages:read', 'payments:read', 'team:read'],
      ...{ claim_token: like(/^ot_clm_/), claim_token_expires_at: '{in 24h}' },
      claim_endpoint: like(/^https?:\/\/.*\/api\/agent\/identity\/claim$/),
      token_endpoint: like(/^https?:\/\/.*\/api\/agent\/oauth\/token$/),
      grant_type: like(/^urn:\w+:agent-auth:grant-type:claim$/),
    },
  }),
  ...onEach(identity, 200, [{ agent_name: 'a', organization_name: 'b' }]),
  on('only anonymous ones', identity, { as: 'none', body: { identity_type: 'company' } }, 400, {
    fields: { '': 'error error_description' },
    values: { error: 'unsupported_identity_type' },
  }),
  on('the access token works', 'GET /auth/me', { given: [[identity, {}]], as: 'secret' }, 200),
  on('a claim token bears nothing', 'GET /auth/me', { given: [[identity, {}], 'use claim'], as: 'secret' }, 401),
];

const exceeding = { requestedScopes: ['payments:write'], grantedScopes: ['payments:read'] };
const fullOfTokens = times(24, ['POST /tokens']);
const expiring: Step = ['POST /tokens', { expiresAt: '{in 1h}' }];

const onTokens = [
  on('one is made of nothing', 'POST /tokens', { body: {} }, 201, {
    fields: { '': 'token tokenType metadata', metadata: token },
    values: {
      ...{ token: like(/^ot_pat_/), tokenType: 'bearer' },
      metadata: { name: 'API token', status: 'active', createdAt: instant, expiresAt: null, revokedAt: null },
    },
  }),
  on('before the claim', 'POST /tokens', { account: { isClaimed: false }, body: {} }, 201),
  on('the scopes of the caller', 'POST /tokens', { as: ['team:read'], body: {} }, 201, {
    values: { metadata: { scopes: ['team:read'] } },
  }),
  ...onEach('POST /tokens', 201, [{ name: 'a'.repeat(120) }, { expiresAt: '{in 1h}' }]),
  ...onEach('POST /tokens', 400, [{ name: '' }, { name: 'a'.repeat(121) }, { scopes: 'jobs:read' }, { scopes: [1] }]),
  ...onEach('POST /tokens', 400, [{ expiresAt: 'soon' }, { expiresAt: '2020-01-01T00:00:00.000Z' }]),
  ...onEach('POST /tokens', 400, [{ scopes: ['jobs:read', 'money:take'] }], {
    ...{ unknownScopes: ['money:take'], supportedScopes: has('jobs:read', 'webhooks:manage') },
  }),
  on('invalid JSON', 'POST /tokens', { raw: '{' }, 400),
  on('no more than the caller', 'POST /tokens', { as: ['payments:read'], body: { scopes: ['payments:write'] } }, 403, {
    details: { ...exceeding, escalatedScopes: ['payments:write'] },
  }),
  on('write covers its read', 'POST /tokens', { as: ['jobs:write'], body: { scopes: ['jobs:read'] } }, 201),
  on('25 at most', 'POST /tokens', { given: fullOfTokens, body: {} }, 409),
  on('25 active ones', 'POST /tokens', { given: [...fullOfTokens, 'DELETE /tokens/{token}'], body: {} }, 201),
  on('the list (E)', 'GET /tokens', {}, 200, { fields: { '': 'tokens', 'tokens.0': token } }),
  on(
    'the list has revoked and expired ones (E)',
    'GET /tokens',
    { given: ['POST /tokens', 'DELETE /tokens/{token}', expiring, 'wait 2'] },
    200,
    { values: { tokens: [{}, { status: 'revoked', revokedAt: instant }, { status: 'active' }] } },
  ),
  on('one is revoked', 'DELETE /tokens/{token}', { given: ['POST /tokens'] }, 200, {
    fields: { '': 'token', token },
    values: { token: { id: '{token}', status: 'revoked', revokedAt: instant } },
  }),
  on('an unknown one', 'DELETE /tokens/tok_0', {}, 404, { details: { tokenId: 'tok_0' } }),
  on("another account's", 'DELETE /tokens/{token}', { given: ['POST /tokens'], as: 'stranger' }, 404, {
    details: { tokenId: '{token}' },
  }),
  on('by its secret', 'DELETE /tokens/{secret}', { given: ['POST /tokens'] }, 404),
];

const me = {
  ...{ '': 'actor token account', actor: 'userId email firstName lastName fullName userType' },
  ...{ token: 'id label scopes ownerOrganizationId', account: 'kind organizationId ownerUserId memberRole' },
};

const onAuthentication = [
  on('a revoked token', 'GET /auth/me', { given: ['POST /tokens', 'DELETE /tokens/{token}'], as: 'secret' }, 401),
  on('an expired token', 'GET /auth/me', { given: [expiring, 'wait 2'], as: 'secret' }, 401),
  on('write implies read', 'GET /contracts', { as: ['payments:write'] }, 200),
  on('write implies read of manuals', 'GET /instructions/workspaces', { as: ['instructions:write'] }, 200),
  on('publish implies no read', 'GET /instructions/workspaces', { as: ['instructions:publish'] }, 403),
];

const ready = {
  ...{ jobTitle: 'Label signs', jobDescription: 'Draw boxes around signs.', paymentType: 'PAY_PER_HOUR' },
  ...{ pricePerHour: 20, experienceLevel: 'EXPERT', dataVolumeUnit: 'NUMBER_OF_FILES', dataVolume: 100, headcount: 2 },
  ...{ languages: ['English'], countries: ['Portugal'], labelTypes: ['BOUNDING_BOX'] },
};
const text = { rawJobDescription: 'Label some signs.' };
const draft: Step = ['POST /job-drafts', text];
const patched: Step[] = [draft, ['PATCH /job-drafts/{draft}', ready]];
const blocked: Step = ['PATCH /job-drafts/{draft}', { subjectMatter: 'Forbidden content' }];
const published: Step[] = [...patched, 'POST /jobs/{draft}/publish'];
const job = { title: 'Signs', description: 'Label some signs.', countries: ['Portugal'] };
const jsonLd = { '@type': 'JobPosting', title: 'Signs', description: 'Label some signs.' };
const xml = '<job><title>Signs</title><description>Label some signs.</description></job>';
const keyed = { ...text, idempotencyKey: 'k-1' };
const made =
  'ok jobId status draftUrl reviewUrl validation missingFields normalizedFields warnings unmappedFields' +
  ' lowConfidenceFields import parser';
const otherKeys = [
  ...['pricePerLabel', 'fixedPrice', 'labelingOverview', 'datasetDescription', 'dataType', 'subjectMatter'],
  ...['labelingSoftware', 'aiInterviewRequirements', 'budgetRange', 'workloadDesc', 'timeRequirement'],
  ...['projectDuration', 'freelancerType', 'projectScope', 'visibility'],
];

const onDrafts = [
  on('one of a text', 'POST /job-drafts', { body: text }, 200, {
    fields: {
      ...{ '': made, validation, parser: 'source warnings parsedFields' },
      import: 'format externalId idempotencyKey rawSourcePreserved autoPublished',
      'missingFields.0': 'field label message code prompt type enumValues updateKeys example hint',
    },
    values: {
      ...{ ok: true, status: 'DRAFT', validation: { publishReady: false }, import: { autoPublished: false } },
      ...{ warnings: anyList, unmappedFields: anyList, lowConfidenceFields: anyList },
    },
  }),
  ...[
    { source: { type: 'text', text: 'Label.', externalId: 'e-1', idempotencyKey: 'k-1' } },
    { format: 'opentrain_canonical', job, externalId: 'e-1', idempotencyKey: 'k-1' },
    { format: 'schema_org_job_posting', jsonLd, externalId: 'e-1', idempotencyKey: 'k-1' },
    { format: 'indeed_xml', xml, externalId: 'e-1', idempotencyKey: 'k-1' },
    { format: 'hr_xml', xml, externalId: 'e-1', idempotencyKey: 'k-1' },
  ].map((body) => {
    const format = body.source?.type ?? body.format;
    return on(`one of ${format}`, 'POST /job-drafts', { body }, 200, {
      values: { import: { format, externalId: 'e-1', idempotencyKey: 'k-1', autoPublished: false } },
    });
  }),
  on('one for a key', 'POST /job-drafts', { given: [['POST /job-drafts', keyed]], body: keyed }, 200, {
    values: { jobId: '{draft}' },
  }),
  on('invalid JSON', 'POST /job-drafts', { raw: '{' }, 400),
  ...onEach('POST /job-drafts', 200, [{ rawJobDescription: 'a'.repeat(60_000) }]),
  ...onEach('POST /job-drafts', 400, [{}, { rawJobDescription: 'a'.repeat(60_001) }]),
  ...onEach(
    'POST /job-drafts',
    400,
    ['externalId', 'idempotencyKey'].map((id) => ({ [id]: 'a'.repeat(257), ...text })),
  ),
  ...onEach('POST /job-drafts', 400, [{ format: 'pdf', job }, { source: { type: 'pdf', text: 'Label.' } }], {
    supportedFormats: has('text', 'opentrain_canonical', 'schema_org_job_posting', 'indeed_xml', 'hr_xml'),
  }),
  on('with all fields it is ready', 'PATCH /job-drafts/{draft}', { given: [draft], body: ready }, 200, {
    fields: { '': 'ok jobId status draftUrl validation', validation },
    values: {
      ...{ ok: true, jobId: '{draft}', status: 'DRAFT' },
      validation: { publishReady: true, issueCount: 0, missingFieldCount: 0, missingFields: [] },
    },
  }),
  on('a patch is JSON', 'PATCH /job-drafts/{draft}', { given: [draft], raw: '{' }, 400),
  ...onEach('PATCH /job-drafts/{draft}', 400, [{}], undefined, [draft]),
  ...onEach(
    'PATCH /job-drafts/{draft}',
    400,
    [{ jobColour: 'red' }, { pricePerHour: 'ten' }, { countries: 'Portugal' }, { experienceLevel: 'expert' }],
    { formErrors: anyList, fieldErrors: anyRecord },
    [draft],
  ),
  on("another account's", 'PATCH /job-drafts/{draft}', { given: [draft], as: 'stranger', body: ready }, 403),
  ...onEach('PATCH /job-drafts/job_0', 404, [ready]),
  on('capabilities', 'GET /job-drafts/capabilities', {}, 200, {
    values: {
      draft: { updateKeys: has(...Object.keys(ready), ...otherKeys), enums: anyRecord },
      capabilities: { publish: expect.anything() },
    },
  }),
  on('it is published', 'POST /jobs/{draft}/publish', { given: patched }, 200, {
    fields: {
      '': 'ok jobId status alreadyPublished jobUrl publishAttemptId warnings sideEffects',
      sideEffects: 'dispatched status',
    },
    values: { ok: true, jobId: '{draft}', status: 'OPEN', alreadyPublished: false, warnings: anyList },
  }),
  on('it is published again', 'POST /jobs/{draft}/publish', { given: published }, 200, {
    values: { status: 'OPEN', alreadyPublished: true },
  }),
  on('it is not ready', 'POST /jobs/{draft}/publish', { given: [draft] }, 400, {
    details: { validation: { missingFields: anyList, issues: anyList } },
  }),
  on('moderation', 'POST /jobs/{draft}/publish', { given: [...patched, blocked] }, 403, {
    details: { reason: 'moderation_blocked', reasons: anyList },
  }),
  on('no such job', 'POST /jobs/job_0/publish', {}, 404),
  on("another account's job", 'POST /jobs/{draft}/publish', { given: patched, as: 'stranger' }, 404),
  ...[3, 20].map((limit) => {
    const setting = { account: { isClaimed: limit === 20 }, given: [...times(limit, published), ...patched] };
    return on(`${limit} a day`, 'POST /jobs/{draft}/publish', setting, 429, {
      details: { limit, windowHours: 24 },
      headers: limitHeaders,
    });
  }),
  on(
    'more a day later',
    'POST /jobs/{draft}/publish',
    { account: { isClaimed: false }, given: [...times(3, published), ...patched, 'wait 25'] },
    200,
  ),
];

const interviewOf = 'GET /proposals/{proposal}/interview';

const onInterviews = [
  on('the transcript', interviewOf, { given: ['propose'] }, 200, {
    fields: {
      ...{ '': 'interview', interview: 'proposalId interviewId score summary messages' },
      'interview.messages.0': 'id role content sentAt',
    },
    values: { interview: { proposalId: '{proposal}', messages: has(expect.objectContaining({ role: 'candidate' })) } },
  }),
  on('no proposal', 'GET /proposals/prp_0/interview', {}, 404, { details: { proposalId: 'prp_0' } }),
  on('no interview', interviewOf, { given: ['propose without'] }, 404, { details: { proposalId: '{proposal}' } }),
  on("another account's", interviewOf, { given: ['propose'], as: 'stranger' }, 403),
];

export const tokensAndJobs: Record<string, Exchange[]> = {
  ...{ 'A 4.1': onIdentity, 'A 4.2': onTokens, 'A 4.3': [on('me (E)', 'GET /auth/me', {}, 200, { fields: me })] },
  ...{ 'A 4.4': onDrafts, 'A 4.5': onInterviews, 'A 5': onAuthentication },
  'A 7': [on('a path that is none', 'GET /nowhere', {}, 404)],
};
