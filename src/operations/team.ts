import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { accountOf } from '../hires/account.ts';
import { team } from '../marketplace/contract/account.ts';
import { act, group, read } from './operation.ts';
import { fieldColumns, table } from './show.ts';
import { maybeText, named, theInstall } from './values.ts';

/** The people of your own accounts, who confirm hires and payments at the marketplace. */

const Member = named('TeamMember', {
  name: maybeText,
  email: maybeText,
  role: z.string().describe('OWNER, MEMBER, or INVITED.'),
  since: maybeText,
});

export const operations = group('team', {
  list: read('GET /installs/{install}/team', 'List the people of your own account, and those who are invited', {
    asks: 'marketplace',
    isPersonal: true,
    args: ['install'],
    in: z.strictObject({ install: theInstall }),
    out: z.object({ items: z.array(Member) }),
    async run({ install }, ctx, { signal }) {
      const { members, invites } = (await accountOf(ctx, install).call(team.get, {}, signal)).team;
      const invited = invites.map(({ email, createdAt: since }) => ({ name: null, email, role: 'INVITED', since }));
      return { items: [...members.map(({ joinedAt: since, ...one }) => ({ ...one, since })), ...invited] };
    },
    show: table(fieldColumns('name', 'email', 'role', 'since'), 'The account has no team.'),
  }),
  invite: act('POST /installs/{install}/team', 'Invite a person to your own account', {
    asks: 'marketplace',
    args: ['email'],
    in: z.strictObject({ install: theInstall, email: z.email().max(320).describe('Their address.') }),
    out: z.object({ status: z.string() }),
    async run({ install, email }, ctx, { by, signal }) {
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'team invite', install));
      return await accountOf(ctx, install).call(team.invite, { email }, signal);
    },
    show: ({ status }) => `The marketplace says: ${status.replaceAll('_', ' ')}.`,
  }),
});
