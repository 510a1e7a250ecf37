import type { Config } from '../../config/config-schema.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { listAccessHistory } from '../../memberships/access-history-store.ts';
import { listAccess } from '../../memberships/access-list-store.ts';
import { leavingKeyOf, listMemberships } from '../../memberships/membership-list-store.ts';
import { pageById, pageByKey, rowNumberIn } from '../../operations/cursor.ts';
import { listWaiting } from '../../operator/list-waiting.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  accessPage,
  accessQuery,
  historyPage,
  historyQuery,
  membershipPage,
  membershipQuery,
  waitingList,
  waitingQuery,
} from '../schemas/membership-schema.ts';

/** Lists of who is in which group of a tool. */

const tag = 'access';

const listOfMemberships = defineOperation({
  id: 'listMemberships',
  method: 'get',
  path: '/memberships',
  summary: 'Which trainer belongs to which group, by tool and group',
  tag,
  query: membershipQuery,
  answer: membershipPage,
  async run({ query: { tool, install, state, undecided, leaving, ...wish } }, { database: { kysely } }) {
    const filter = { tool, install, state, isUndecided: undecided };
    if (leaving) {
      return await pageByKey(
        'listMemberships leaving',
        { ...wish, parts: 2 },
        async (key, limit) => {
          const afterLeaving = key && { leavesAt: key[0] ?? '', id: rowNumberIn(key[1]) };
          return await listMemberships(kysely, { ...filter, isLeaving: true, afterLeaving, limit });
        },
        (row) => [leavingKeyOf(row).leavesAt, String(row.id)],
      );
    }
    return await pageByKey(
      'listMemberships',
      { ...wish, parts: 4 },
      async (key, limit) => {
        const [ofTool = '', groupId = '', trainerId = '', id] = key ?? [];
        const after = key && { tool: ofTool, groupId, trainerId, id: rowNumberIn(id) };
        return await listMemberships(kysely, { ...filter, after, limit });
      },
      (row) => [row.tool, row.groupId, row.trainerId, String(row.id)],
    );
  },
});

const searchAccess = defineOperation({
  id: 'searchAccess',
  method: 'get',
  path: '/access',
  summary: 'Who is, or was, in which project and by which contracts, the newest first',
  tag,
  query: accessQuery,
  answer: accessPage,
  async run({ query: { q, trainer, contract, limit, cursor, ...filter } }, { database: { kysely }, box }) {
    const search = q === undefined ? undefined : { text: q, digest: box.digest(q.toLowerCase()) };
    const asked = { ...filter, search, trainerId: trainer, contractId: contract };
    return await pageById('searchAccess', { limit, cursor }, (before, most) =>
      listAccess(kysely, { ...asked, before, limit: most }),
    );
  },
});

const listWaitingMembers = defineOperation({
  id: 'listWaiting',
  method: 'get',
  path: '/waiting',
  summary: 'Who waits: for a work address, or for an invitation to be handed over',
  tag,
  query: waitingQuery,
  answer: waitingList,
  async run({ query: { tool, limit = 100 } }, ctx) {
    return { items: await listWaiting(ctx, { tool, limit, ...toReach(ctx.config, ctx.clock) }) };
  },
});

const accessHistory = defineOperation({
  id: 'listAccessHistory',
  method: 'get',
  path: '/access/history',
  summary: 'Who could get in where, from when to when, and by which contracts',
  tag,
  query: historyQuery,
  answer: historyPage,
  async run({ query: { from, to, install, ...wish } }, { database: { kysely }, clock }) {
    const period = {
      from: toInstant(new Date(from ?? 0)),
      to: toInstant(to === undefined ? clock.now() : new Date(to)),
      install,
    };
    return await pageByKey(
      'listAccessHistory',
      { ...wish, parts: 2 },
      (key, limit) => {
        const after = key && { membershipId: rowNumberIn(key[0]), number: rowNumberIn(key[1]) };
        return listAccessHistory(kysely, period, { after, limit });
      },
      ({ membershipId, number }) => [String(membershipId), String(number)],
    );
  },
});

export const membershipOperations = [listOfMemberships, searchAccess, accessHistory, listWaitingMembers];

/** What decides whether a person can be reached by mail now. */
function toReach({ marketplace: { managedDomains }, mail }: Config, clock: Clock) {
  return { managedDomains, hasMail: mail !== undefined, now: toInstant(clock.now()) };
}
