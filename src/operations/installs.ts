import { z } from 'zod';
import { dropPayments } from '../budget/payment-store.ts';
import { nameRule, projectRule } from '../config/text-rules.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { sourceKinds } from '../domain/install.ts';
import { findConnectedInstall, removeConnectedInstall } from '../installs/install-store.ts';
import { dropSubscription } from '../installs/subscription/subscription-store.ts';
import { refuseOrphaning } from '../memberships/check-orphans.ts';
import { postponeInstalls } from '../memberships/derivation-store.ts';
import { dropFeed } from '../reconcile/feed/feed-store.ts';
import { establishInstall } from './connect/connect-install.ts';
import { describeDestination, settleWish, toToken } from './connect/settle-wish.ts';
import { Check, checkColumns } from './doctor/check.ts';
import { showInstall } from './install-show.ts';
import { healthOf, Install, listInstalls } from './list-installs.ts';
import { act, group, read } from './operation.ts';
import { installPath } from './paths.ts';
import { reconcileInstalls } from './reconcile.ts';
import { Reconciled } from './reconcile-now.ts';
import { type Columns, table } from './show.ts';
import { count, oneInstall, text, waiting } from './values.ts';

/** The customers that are connected, by configuration or by command. */

const columns: Columns<z.output<typeof Install>> = [
  ['install', ({ install }) => install, { to: ({ install }) => installPath(install) }],
  ['source', ({ livesIn }) => livesIn, { isBeneath: true }],
  ['tool', ({ tool }) => tool],
  ['projects', ({ projects }) => projects.join(', '), { isBeneath: true }],
  ['state', healthOf, { as: 'state' }],
  ['last read', ({ readAt }) => readAt, { as: 'age' }],
  ['problem', ({ troubles }) => troubles.join('; ')],
];

const project = z
  .string()
  .max(500)
  .refine((value) => projectRule.pattern.test(value) && value.isWellFormed(), projectRule.says)
  // The same for programs, some of which know no classes of characters.
  .meta({ pattern: '^[^*\\u0000-\\u001f\\u007f-\\u009f]+\\*?$|^\\*$' });

export const operations = group('installs', {
  list: read('GET /installs', 'List the customers that are connected, and when each was last read', {
    in: z.strictObject({}),
    out: z.object({ installs: z.array(Install) }),
    run: async (_none, ctx) => ({ installs: await listInstalls(ctx, ctx.installs) }),
    show: table(columns, 'No customer is connected yet. Connect one with their token.', 'installs'),
  }),
  show: showInstall,
  connect: act(
    'POST /installs/{install}/connect',
    'Connect a customer or your own account, or connect them again with another token',
    {
      asks: 'tools',
      // A token is no part of a command line.
      hasCommand: false,
      in: z.strictObject({
        install: z
          .string()
          .regex(nameRule.pattern, 'must be 1 to 63 of a-z, 0-9, "-" and "_", and start with a letter or a digit')
          .describe('Your name for the customer.'),
        source: z
          .enum(sourceKinds)
          .optional()
          .describe('"employer" for your own account, with a personal token. By default what it is, or a platform.'),
        token: z.string().min(1).max(10_000).optional().describe('The token; by default the stored one is kept.'),
        jobs: z
          .array(z.strictObject({ job: text, project: text }))
          .max(1000)
          .default([])
          .describe('Of your own account: whose people work in which project. They are added to the linked ones.'),
        tool: text.optional().describe('The tool of the configuration that gets the people.'),
        projects: z.array(project).min(1).max(1000).optional().describe('The projects of the customer.'),
        relink: z.boolean().default(false).describe('Link the projects of an earlier connection again.'),
        move: z.boolean().default(false).describe('Have events delivered here that are delivered elsewhere now.'),
        acceptOrphans: z
          .boolean()
          .default(false)
          .describe('Go on although the configuration no longer covers people who are in a tool: they are kept.'),
        acceptOtherCustomer: z
          .boolean()
          .default(false)
          .describe('Go on although the install belonged to another customer, whose people are removed then.'),
        wait: waiting,
      }),
      out: Reconciled.extend({
        grant: z.string(),
        links: count,
        relinked: z.array(z.string()).describe('Projects that were linked again.'),
        missing: z
          .array(z.object({ project: z.string(), why: z.string() }))
          .describe('Projects that were linked before, and are not now.'),
        checks: z.array(Check),
      }),
      async run({ install, token, jobs, tool, projects, relink, move, wait, ...given }, ctx, call) {
        const hasToken = token !== undefined;
        const settled = settleWish(ctx, { install, source: given.source, jobs, hasToken, tool, projects });
        const { source, destination, configured } = settled;
        const used = configured ?? (hasToken ? toToken(token) : (await findConnectedInstall(ctx, install))?.token);
        if (used === undefined) throw new AppError('invalid', `There is no token for ${install} yet: send one`);
        const checks: Check[] = [];
        const connector = {
          registry: ctx.registry,
          by: call.by,
          mayMove: move,
          confirm: async () => relink,
          onStep: (check: Check) => void checks.push(check),
        };
        const accepts = { acceptsOrphans: given.acceptOrphans, acceptsOtherCustomer: given.acceptOtherCustomer };
        const wish = { install, source, token: used, jobs, destination, ...accepts };
        const established = await establishInstall(ctx, connector, wish, call.signal);
        const [reconciled] = await reconcileInstalls(ctx, call, [install], wait);
        if (reconciled === undefined) throw new AppError('internal', 'Nothing was reconciled');
        return { ...reconciled, ...established, checks };
      },
      show: table(checkColumns, 'Nothing was found.', 'checks'),
    },
  ),
  remove: act(
    'POST /installs/{install}/remove',
    'Forget an install that was connected by command, with its token; its people stay in the tools',
    {
      asks: 'services',
      args: ['install'],
      in: z.strictObject({
        install: text.describe('Its name.'),
        acceptOrphans: z
          .boolean()
          .default(false)
          .describe('Remove it although people are in a tool by it: they are kept.'),
      }),
      out: z.object({ install: z.string() }),
      async run({ install: named, acceptOrphans }, ctx, { by }) {
        const install = oneInstall(ctx, named);
        const known = ctx.installs.get(install);
        if (known?.livesIn === 'configuration') {
          throw new AppError('invalid', `${install} is in the configuration. Remove it there`);
        }
        // Memberships that only this install led to are orphaned.
        if (!acceptOrphans) {
          await refuseOrphaning(ctx, (link) => (link.install === install ? undefined : ctx.routeLink(link)));
        }
        await inTransaction(ctx.database, async (tx) => {
          await removeConnectedInstall(tx, install);
          await dropSubscription(tx, install);
          await dropFeed(tx, install);
          await dropPayments(tx, install);
          await postponeInstalls(tx, [install]);
          await writeAudit(tx, by, 'installs remove', install, { before: known && describeDestination(known) });
        });
        await ctx.registry.load();
        return { install };
      },
      show: ({ install }) => `Removed ${install} and its token.`,
    },
  ),
});
