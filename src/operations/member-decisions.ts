import { z } from 'zod';
import { toAppError } from '../domain/errors.ts';
import { listMemberships } from '../memberships/membership-list-store.ts';
import { adoptDoubted, adoptMember, releaseDoubted, releaseMember } from '../memberships/ownership-store.ts';
import { act, type OperationContext } from './operation.ts';
import { flag, rowNumber, text } from './values.ts';

/** Decisions about members whom Gangway did not add: whether it may remove them. */

const number = rowNumber.describe('Its number in the list.');

const allUndecided = {
  undecided: z.literal(true).describe('All that "gangway members --undecided" lists.'),
  tool: text.optional().describe('With --undecided: only those of one tool.'),
};

const outcomes = {
  adopted: 'owns that account too, and loses it with the last contract',
  let_go: 'does not own that account, which stays as it is',
  kept: 'is managed by Gangway now, and leaves when the last contract ends',
  removing: 'is managed by Gangway now, and is removed: there is no active contract',
  released: 'is no longer managed by Gangway, and stays',
};

type Outcome = keyof typeof outcomes;

const Decided = z.object({
  decided: z.array(z.object({ membershipId: z.int(), outcome: z.literal(Object.keys(outcomes) as Outcome[]) })),
  refused: z.array(z.object({ membershipId: z.int(), problem: z.string() })),
});

const saying = {
  show: ({ decided }: z.output<typeof Decided>) =>
    decided.map((one) => `Membership ${one.membershipId} ${outcomes[one.outcome]}.`).join('\n') ||
    'Nothing was decided.',
  problems: ({ refused }: z.output<typeof Decided>) => refused.map(({ problem }) => problem),
};

export const adopt = act(
  'POST /memberships/adopt',
  'Manage members whom Gangway did not add: they leave when their last contract ends, maybe at once',
  {
    args: ['membership'],
    in: z.union([
      z.strictObject({
        membership: number,
        account: flag('Manage their account too, so that it may be changed or ended.'),
        address: text
          .optional()
          .describe(
            'The address that their account now shows, if the account is theirs although no source has reported the address.',
          ),
      }),
      z.strictObject({ ...allUndecided, account: flag('Manage their accounts too.') }),
    ]),
    out: Decided,
    async run(input, ctx, { by }) {
      const adopt = (id: number) => adoptMember(ctx, id, by, input.account);
      if ('undecided' in input) return await decideEach(ctx, input.tool, adopt);
      const { membership: id, address } = input;
      if (address === undefined) return decideOne(id, await adopt(id));
      await adoptDoubted(ctx, id, address, by);
      return decideOne(id, 'adopted');
    },
    ...saying,
  },
);

export const release = act(
  'POST /memberships/release',
  'Stop managing members, so that they stay when their contracts end',
  {
    args: ['membership'],
    in: z.union([
      z.strictObject({
        membership: number,
        doubted: flag('Release the account with the unknown owner, not the member.'),
      }),
      z.strictObject(allUndecided),
    ]),
    out: Decided,
    async run(input, ctx, { by }) {
      const { managedDomains } = ctx.config.marketplace;
      const release = (id: number) => releaseMember(ctx, id, managedDomains, by);
      if ('undecided' in input) return await decideEach(ctx, input.tool, release);
      const { membership: id, doubted } = input;
      return decideOne(id, doubted ? await releaseDoubted(ctx, id, by) : await release(id));
    },
    ...saying,
  },
);

const mostUndecided = 100_000;

function decideOne(membershipId: number, outcome: Outcome): z.input<typeof Decided> {
  return { decided: [{ membershipId, outcome }], refused: [] };
}

/** If the decision is refused for one membership, the others are still decided. */
async function decideEach(
  ctx: OperationContext,
  tool: string | undefined,
  decide: (membership: number) => Promise<Outcome>,
): Promise<z.input<typeof Decided>> {
  const filter = { tool, isUndecided: true, limit: mostUndecided };
  const all: z.input<typeof Decided> = { decided: [], refused: [] };
  for (const { id: membershipId } of await listMemberships(ctx.database.kysely, filter)) {
    try {
      all.decided.push({ membershipId, outcome: await decide(membershipId) });
    } catch (error) {
      const { code, message: problem } = toAppError(error);
      if (code !== 'conflict') throw error;
      all.refused.push({ membershipId, problem });
    }
  }
  return all;
}
