import { createEvidenceStore } from '../../evidence/evidence-store.ts';
import { createOwnershipStore } from '../../memberships/ownership-store.ts';
import { forgetPerson } from '../../privacy/forget-person.ts';
import { createPersonStore } from '../../privacy/person-store.ts';
import { createRetentionStore } from '../../privacy/retention-store.ts';
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

const listOrphans = defineOperation({
  id: 'listOrphans',
  method: 'get',
  path: '/orphans',
  summary: 'Who is in a tool although the configuration no longer leads there',
  tag,
  query: orphansQuery,
  answer: orphansAnswer,
  run: async ({ query }, { database, memberships }) => ({
    orphans: await createOwnershipStore(database, memberships).orphans(query),
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
  async run({ body, by }, { database, memberships, config }) {
    const ownership = createOwnershipStore(database, memberships);
    const orphans = await ownership.orphans('all' in body ? {} : body);
    return { orphans, retired: await ownership.retire(orphans, new Set(config.tools.keys()), by) };
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
  async run({ body: { person, install, dryRun }, by, signal }, { database, box, inbox, clock }) {
    const deps = {
      database,
      box,
      inbox,
      clock,
      signal,
      people: createPersonStore(database),
      retention: createRetentionStore(database),
      lockEvidence: createEvidenceStore(database, box).lock,
    };
    return { ...(await forgetPerson(deps, person, { dryRun, by, install })), dryRun };
  },
});

export const peopleOperations = [listOrphans, retire, forget];
