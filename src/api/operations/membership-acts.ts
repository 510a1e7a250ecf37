import { renewInvitationOf, takeInvitation } from '../../converge/handover-store.ts';
import { adoptDoubted } from '../../memberships/doubt-store.ts';
import { adoptMember } from '../../memberships/ownership-store.ts';
import { convergeNow } from '../../operator/converge-now.ts';
import { releaseMembership } from '../../operator/release-membership.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  adoptBody,
  decidedAnswer,
  invitationAnswer,
  membershipParams,
  releaseBody,
} from '../schemas/membership-schema.ts';

/** What operators decide about one membership. */

const tag = 'access';

const convergeMembership = defineOperation({
  id: 'convergeMembership',
  method: 'post',
  path: '/memberships/{membership}/converge',
  summary: 'Look at a membership in its tool now, and bring it in line with what is wanted',
  tag,
  params: membershipParams,
  answer: decidedAnswer,
  async run({ params: { membership }, by }, ctx) {
    await convergeNow(ctx, by, membership);
    return { membership, decision: 'converge' };
  },
});

const adopt = defineOperation({
  id: 'adoptMember',
  method: 'post',
  path: '/memberships/{membership}/adopt',
  summary: 'Count a member as added by Gangway: they are removed when no reason is left, which may be at once',
  tag,
  params: membershipParams,
  body: adoptBody,
  answer: decidedAnswer,
  async run({ params: { membership }, body: { account = false, address }, by }, ctx) {
    const decision = 'adopt';
    if (address === undefined) {
      return { membership, decision, outcome: await adoptMember(ctx, membership, by, { withAccount: account }) };
    }
    await adoptDoubted(ctx, membership, address, by);
    return { membership, decision, outcome: 'adopted' };
  },
});

const releaseMember = defineOperation({
  id: 'releaseMember',
  method: 'post',
  path: '/memberships/{membership}/release',
  summary: 'Count a member as not added by Gangway: they stay, whatever ends',
  tag,
  params: membershipParams,
  body: releaseBody,
  answer: decidedAnswer,
  async run({ params: { membership }, body: { doubted = false }, by }, ctx) {
    const { managedDomains } = ctx.config.marketplace;
    const outcome = await releaseMembership(ctx, by, { membership, doubted }, managedDomains);
    return { membership, decision: 'release', outcome };
  },
});

const renewInvitation = defineOperation({
  id: 'renewInvitation',
  method: 'post',
  path: '/memberships/{membership}/invitation/renew',
  summary: 'Have the tool renew an invitation that was not accepted yet',
  tag,
  params: membershipParams,
  answer: decidedAnswer,
  async run({ params: { membership }, by }, ctx) {
    const canRenew = (tool: string) => ctx.adapters.get(tool)?.renewInvitation !== undefined;
    await renewInvitationOf(ctx, membership, canRenew, by);
    return { membership, decision: 'renew' };
  },
});

const showInvitation = defineOperation({
  id: 'takeInvitation',
  method: 'post',
  path: '/memberships/{membership}/invitation',
  summary: 'Show the invitation of a trainer this once: it is not kept, and the caller hands it over',
  tag,
  isSecret: true,
  params: membershipParams,
  answer: invitationAnswer,
  async run({ params: { membership }, by }, ctx) {
    const { content, expiresAt } = await takeInvitation(ctx, membership, by);
    return { membership, invitation: { ...content, expiresAt } };
  },
});

export const membershipActs = [convergeMembership, adopt, releaseMember, showInvitation, renewInvitation];
