import { createHandoverStore } from '../../converge/handover-store.ts';
import { createDoubtStore } from '../../memberships/doubt-store.ts';
import { createOwnershipStore } from '../../memberships/ownership-store.ts';
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
  async run({ params: { membership }, by }, { database }) {
    await convergeNow(database, membership, by);
    return { membership, decision: 'converge' };
  },
});

const adoptMember = defineOperation({
  id: 'adoptMember',
  method: 'post',
  path: '/memberships/{membership}/adopt',
  summary: 'Count a member as added by Gangway: they are removed when no reason is left, which may be at once',
  tag,
  params: membershipParams,
  body: adoptBody,
  answer: decidedAnswer,
  async run({ params: { membership }, body: { account = false, address }, by }, { database, box, memberships }) {
    const decision = 'adopt';
    if (address === undefined) {
      const ownership = createOwnershipStore(database, memberships);
      return { membership, decision, outcome: await ownership.adopt(membership, by, { withAccount: account }) };
    }
    await createDoubtStore(database, box).adopt(membership, address, by);
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
  async run({ params: { membership }, body: { doubted = false }, by }, { database, box, memberships, config }) {
    const { managedDomains } = config.marketplace;
    const outcome = await releaseMembership(
      { database, box, memberships, managedDomains },
      { membership, doubted },
      by,
    );
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
  async run({ params: { membership }, by }, { database, box, adapters }) {
    const canRenew = (tool: string) => adapters.get(tool)?.renewInvitation !== undefined;
    await createHandoverStore(database, box).renew(membership, canRenew, by);
    return { membership, decision: 'renew' };
  },
});

const takeInvitation = defineOperation({
  id: 'takeInvitation',
  method: 'post',
  path: '/memberships/{membership}/invitation',
  summary: 'Show the invitation of a trainer this once: it is not kept, and the caller hands it over',
  tag,
  isSecret: true,
  params: membershipParams,
  answer: invitationAnswer,
  async run({ params: { membership }, by }, { database, box }) {
    const { content, expiresAt } = await createHandoverStore(database, box).take(membership, by);
    return { membership, invitation: { ...content, expiresAt } };
  },
});

export const membershipActs = [convergeMembership, adoptMember, releaseMember, takeInvitation, renewInvitation];
