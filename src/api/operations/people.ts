import { listOrphans, retireOrphans } from '../../memberships/ownership-store.ts';
import { forgetPerson } from '../../privacy/forget-person.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  forgetBody,
  forgottenAnswer,
  orphansAnswer,
  orphansQuery,
  retireBody,
  retiredAnswer,
} from '../schemas/people-schema.ts';

/** What clears people away: retiring and forgetting. */

const tag = 'people';

const listAllOrphans = defineOperation({
  id: 'listOrphans',
  method: 'get',
  path: '/orphans',
  summary: 'Who is in a tool although the configuration no longer leads there',
  tag,
  query: orphansQuery,
  answer: orphansAnswer,
  run: async ({ query }, ctx) => ({
    orphans: await listOrphans(ctx, query),
  }),
});

const retire = defineOperation({
  id: 'retire',
  method: 'post',
  path: '/retire',
  summary: 'Remove those whose install, tool or group is no longer configured',
  tag,
  body: retireBody,
  answer: retiredAnswer,
  async run({ body, by }, ctx) {
    const orphans = await listOrphans(ctx, 'all' in body ? {} : body);
    return { orphans, retired: await retireOrphans(ctx, orphans, new Set(ctx.config.tools.keys()), by) };
  },
});

const forget = defineOperation({
  id: 'forget',
  method: 'post',
  path: '/forget',
  summary: 'Clear everything personal of one person, at every install that does not need them any more',
  tag,
  body: forgetBody,
  answer: forgottenAnswer,
  async run({ body: { person, install, dryRun }, by, signal }, ctx) {
    return { ...(await forgetPerson(ctx, person, { dryRun, by, install }, signal)), dryRun };
  },
});

export const peopleOperations = [listAllOrphans, retire, forget];
