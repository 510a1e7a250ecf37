import { expect } from 'vitest';

/** A control, or a request of the owner, with its body. A name in braces is the id of what was made last of that kind. */
export type Step = string | [request: string, body: unknown, key?: string];

export interface Setting {
  account?: { isClaimed?: boolean; featuresOff?: string[]; hasTeams?: boolean };
  given?: Step[];
  /** Whose token is sent, if not the owner's first: none, a stranger's, the last one made, or one with these scopes. */
  as?: 'none' | 'stranger' | 'secret' | string[];
  body?: unknown;
  /** Sent as it is. */
  raw?: string;
  /** The `Idempotency-Key`. */
  key?: string;
}

export interface Expected {
  code?: string;
  /** All names of the fields, by where they are. */
  fields?: Record<string, string>;
  values?: object;
  details?: object;
  headers?: object;
  /** Somewhere in the JSON of the answer. */
  text?: RegExp;
}

/** One exchange, and what the specification says of it. */
export interface Exchange {
  says: string;
  ask: string;
  setting: Setting;
  status: number;
  expected: Expected;
}

export function on(says: string, ask: string, setting: Setting, status: number, expected: Expected = {}): Exchange {
  return { says, ask, setting, status, expected };
}

/** The same request with one body after the other. */
export function onEach(
  ask: string,
  status: number,
  bodies: unknown[],
  details?: object,
  given: Step[] = [],
): Exchange[] {
  return bodies.map((body, index) => {
    const says = `${ask} answers ${status} to ${JSON.stringify(body).slice(0, 80)}, ${index}`;
    return on(says, ask, { given, body }, status, details && { details });
  });
}

export const anyText = expect.any(String);
export const anyList = expect.any(Array);
export const anyRecord = expect.any(Object);
export const instant = like(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

export function like(pattern: RegExp): string {
  return expect.stringMatching(pattern);
}

export function has(...values: unknown[]): unknown[] {
  return expect.arrayContaining(values);
}

export function times(count: number, steps: Step[]): Step[] {
  return Array.from({ length: count }, () => steps).flat();
}

/** What each answer with 429 carries (A 8). */
export const limitHeaders = {
  'retry-after': anyText,
  'x-ratelimit-limit': anyText,
  'x-ratelimit-remaining': anyText,
  'x-ratelimit-reset': anyText,
};

const drafts = ['jobs:write', 'public_api_job_drafting'] as const;
const ends = ['payments:write', 'public_api_payments_write'] as const;
const tops = ['payments:write', 'public_api_credits'] as const;
const hooks = ['webhooks:manage', 'public_api_webhooks'] as const;
const member = 'GET /messaging/management/messaging_management.members.get?conversationId=dm_0&userId=usr_0';
const attachment = `GET /messages/msg_0/attachments/att_${'0'.repeat(32)}`;

type Gate = [section: string, ask: string, scopes?: string, feature?: string, claim?: 'claimed' | 'unclaimed'];

/** What lets a call through (A 5): one of the scopes, a feature, and a claim, or not even that. */
const gates: Gate[] = [
  ['A 4.2', 'POST /tokens'],
  ['A 4.2', 'GET /tokens', '', '', 'unclaimed'],
  ['A 4.2', 'DELETE /tokens/tok_0'],
  ['A 4.3', 'GET /auth/me'],
  ['A 4.4', 'POST /job-drafts', ...drafts],
  ['A 4.4', 'PATCH /job-drafts/job_0', ...drafts],
  ['A 4.4', 'POST /jobs/job_0/publish', 'jobs:write', 'public_api_job_publishing'],
  ['A 4.5', 'GET /proposals/prp_0/interview', 'proposals:read'],
  ['A 4.6', 'GET /contracts', 'payments:read', '', 'unclaimed'],
  ['E', 'GET /contracts/ctr_0', 'payments:read'],
  ['A 4.6', 'POST /contracts/ctr_0/end', ...ends, 'claimed'],
  ['A 4.6', 'GET /approvals/apr_0', 'payments:read'],
  ['A 4.7', 'POST /credits/top-ups', ...tops, 'claimed'],
  ['A 4.7', 'GET /payments/pending', 'payments:read', '', 'unclaimed'],
  ['A 4.8', 'GET /team', 'team:read', 'public_api_team', 'unclaimed'],
  ['A 4.9', 'POST /webhooks', ...hooks],
  ['A 4.9', 'GET /webhooks', ...hooks],
  ['A 4.9', 'GET /webhooks/whk_0', ...hooks],
  ['A 4.9', 'DELETE /webhooks/whk_0', ...hooks],
  ['A 4.10', 'GET /updates', 'proposals:read messages:read payments:read', '', 'unclaimed'],
  ['B 4.1', 'GET /instructions/workspaces', 'instructions:read'],
  ['B 4.1', 'GET /instructions/workspaces/wsp_0/manuals', 'instructions:read'],
  ['B 4.1', 'GET /instructions/manuals/man_0', 'instructions:read'],
  ['B 4.1', 'GET /instructions/manuals/man_0/publications', 'instructions:read'],
  ['B 4.1', 'GET /instructions/manuals/man_0/publications/1/manifest', 'instructions:read'],
  ['B 4.1', 'GET /instructions/pages/pag_0', 'instructions:read'],
  ['B 4.1', 'POST /instructions/workspaces', 'instructions:write'],
  ['B 4.1', 'GET /instructions/capabilities', 'instructions:read'],
  ['B 4.1', 'GET /instructions/workspaces/wsp_0', 'instructions:read'],
  ['B 4.1', 'PATCH /instructions/workspaces/wsp_0', 'instructions:write'],
  ['B 4.1', 'POST /instructions/workspaces/wsp_0/archive', 'instructions:write'],
  ['B 4.1', 'GET /instructions/workspaces/wsp_0/permissions', 'instructions:read'],
  ['B 4.1', 'POST /instructions/workspaces/wsp_0/permissions', 'instructions:publish'],
  ['B 4.1', 'POST /instructions/workspaces/wsp_0/permissions/usr_0/revoke', 'instructions:publish'],
  ['B 4.1', 'POST /instructions/workspaces/wsp_0/manuals', 'instructions:write'],
  ['B 4.1', 'PATCH /instructions/manuals/man_0', 'instructions:write'],
  ['B 4.1', 'POST /instructions/manuals/man_0/archive', 'instructions:write'],
  ['B 4.1', 'GET /instructions/manuals/man_0/tree', 'instructions:read'],
  ['B 4.1', 'POST /instructions/changesets/validate', 'instructions:write instructions:propose'],
  ['B 4.1', 'POST /instructions/changesets/diff', 'instructions:write instructions:propose'],
  ['B 4.1', 'POST /instructions/changesets/apply', 'instructions:write'],
  ['B 4.1', 'POST /instructions/changesets/submit', 'instructions:propose'],
  ['B 4.1', 'GET /instructions/changesets?workspaceId=wsp_0', 'instructions:read'],
  ['B 4.1', 'GET /instructions/changesets/chg_0', 'instructions:read'],
  ['B 4.1', 'POST /instructions/changesets/chg_0/approve', 'instructions:review'],
  ['B 4.1', 'POST /instructions/changesets/chg_0/reject', 'instructions:review'],
  ['B 4.1', 'POST /instructions/changesets/chg_0/apply', 'instructions:write'],
  ['B 4.1', 'GET /instructions/manuals/man_0/revisions', 'instructions:read'],
  ['B 4.1', 'GET /instructions/manuals/man_0/revisions/diff?a=1&b=2', 'instructions:read'],
  ['B 4.1', 'POST /instructions/manuals/man_0/revisions/1/restore', 'instructions:write'],
  ['B 4.1', 'POST /instructions/manuals/man_0/publications', 'instructions:publish'],
  ['B 4.2', attachment, 'messages:read'],
  ['B 4.2', member, 'messages:read', '', 'claimed'],
];

/** Where the specification names these details. */
const detailed = /job-drafts|team|updates/;

function onGate([, ask, scopes = '', feature = '', claim]: Gate): Exchange[] {
  const exchanges = [on(`${ask} without a token`, ask, { as: 'none' }, 401)];
  if (scopes !== '') {
    const requiredScopes = scopes.split(' ');
    const as = scopes.includes('team') ? ['jobs:read'] : ['team:read'];
    const expected = detailed.test(ask) ? { details: { requiredScopes } } : {};
    exchanges.push(on(`${ask} without its scope`, ask, { as }, 403, expected));
  }
  if (feature !== '') {
    const expected = ask.includes('job-drafts') ? { details: { featureKey: feature } } : {};
    exchanges.push(on(`${ask} without its feature`, ask, { account: { featuresOff: [feature] } }, 403, expected));
  }
  if (claim === undefined) return exchanges;
  const details = { reason: 'account_claim_required', claimUrl: like(/^https?:/) };
  const [status, expected] = claim === 'claimed' ? [403, { details }] : [200, {}];
  return [...exchanges, on(`${ask} before the claim`, ask, { account: { isClaimed: false } }, status, expected)];
}

export const onGates = gates.map((gate): [string, Exchange[]] => [gate[0], onGate(gate)]);
