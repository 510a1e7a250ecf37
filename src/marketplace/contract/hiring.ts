import { z } from 'zod';
import { Approval } from './contracts.ts';
import { ofChoice, Proposal } from './jobs.ts';
import { family, op } from './operation.ts';
import { fields, lenient, words } from './shapes.ts';
import { Amount, Id, Instant, MaybeId, Text, Words } from './values.ts';

/** Proposals and freelancers (spec: part A sections 2.8 and 4.5). */

export const proposals = family('proposals', { section: 'A 4.5', scopes: ['proposals:read'] })({
  get: op('GET /proposals/{proposalId}', 'read a proposal', {
    out: z.object({ proposal: Proposal }),
    assumed: 'The record of a proposal beyond aiInterview.',
  }),
  interview: op('GET /proposals/{proposalId}/interview', 'read the transcript of an AI interview', {
    out: z.object({
      interview: z.object({
        proposalId: Id,
        interviewId: Id,
        score: Amount,
        summary: lenient(z.string().nullable()),
        messages: z.array(
          z.object({ id: Id, role: words('interviewer', 'candidate'), content: z.string(), sentAt: Instant }),
        ),
      }),
    }),
  }),
  conversation: op('POST /proposals/{proposalId}/conversation', 'start the conversation before a hire', {
    scopes: ['messages:write'],
    out: z.object({ conversationId: Id, created: z.boolean() }),
    needsClaim: true,
    reasons: ['proposal_not_ready_for_messaging'],
    assumed: 'The scope messages:write, no body, {conversationId, created}, and that the account must be claimed.',
  }),
  hire: op('POST /proposals/{proposalId}/hire', 'hire the person of a proposal', {
    scopes: ['payments:write'],
    feature: 'public_api_payments_write',
    in: z.object({ confirmNotFitOverride: z.boolean().optional() }),
    out: z.object({ approval: Approval, message: Text }),
    needsClaim: true,
    // Only for the end of a contract does the specification say that a pending approval is returned again.
    idempotency: 'none',
    reasons: ['payment_method_required', 'already_accepted', 'not_fit_confirmation_required', ...ofChoice],
    assumed: 'The scope payments:write, its feature, and that the account must be claimed.',
  }),
});

export const freelancers = family('freelancers', { section: 'A 4.5', scopes: ['proposals:read'] })({
  get: op('GET /freelancers/{idOrSlug}', 'read the public profile of a freelancer', {
    out: z.object({
      freelancer: z.object({
        userId: Id,
        slug: MaybeId,
        ...fields(Text, 'displayName', 'country', 'headline'),
        skills: lenient(Words),
        languages: lenient(Words),
      }),
    }),
    assumed: 'The scope proposals:read and the fields of the profile.',
  }),
});
