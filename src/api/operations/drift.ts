import { driftSides, sayNext } from '../../operator/describe-drift.ts';
import { listFindings, listGroupDrifts } from '../../reconcile/drift/finding-store.ts';
import { defineOperation } from '../operation-schema.ts';
import { driftAnswer, driftQuery } from '../schemas/drift-schema.ts';

/** What differs between what the tools list and the memberships that are known. */

const kinds = Object.values(driftSides).flat();

const getDrift = defineOperation({
  id: 'getDrift',
  method: 'get',
  path: '/drift',
  summary: 'Who is in a tool without a reason, and who should be in and is not, by the latest listings',
  tag: 'access',
  query: driftQuery,
  answer: driftAnswer,
  async run({ query: { tool, group: groupId, limit = 100 } }, ctx) {
    const groups = await listGroupDrifts(ctx, { tool, groupId, limit });
    const found = await listFindings(ctx, { tool, groupId, kinds, limit });
    return { groups, found: found.map((one) => ({ ...one, next: sayNext(one) })) };
  },
});

export const driftOperations = [getDrift];
