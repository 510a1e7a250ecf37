import { z } from 'zod';
import { unwatchBudgetsOf } from '../budget/budget-store.ts';
import { dropPayments } from '../budget/payment-store.ts';
import { nameRule, projectRule } from '../config/text-rules.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { statusOfLink } from '../domain/evidence-status.ts';
import { sourceKinds } from '../domain/install.ts';
import { membershipStates } from '../domain/membership.ts';
import { listLiveLinks } from '../evidence/contract-store.ts';
import { takesGuidelines } from '../guidelines/look-at-project.ts';
import { dropHires, listOpenApprovals } from '../hires/hire-store.ts';
import { findConnectedInstall, removeConnectedInstall } from '../installs/install-store.ts';
import { dropJobsOf } from '../jobs/job-store.ts';
import { postponeInstalls } from '../memberships/derivation-store.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { refuseOrphaning } from '../memberships/orphan-store.ts';
import { explainCrossing, outsideOf } from '../memberships/wall.ts';
import { dropFeed } from '../reconcile/feed/feed-store.ts';
import { dropSubscription, findSubscription } from '../subscription/subscription-store.ts';
import { Check, checkColumns } from './check.ts';
import { describeDestination, establishInstall, settleConnection, toToken } from './connect.ts';
import { Endpoint, endpointOf } from './endpoint.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { oneInstall } from './pick-installs.ts';
import { reconcileInstalls } from './reconcile.ts';
import { Reconciled } from './reconcile-now.ts';
import { type Columns, fieldColumns, installPath, record, table } from './show.ts';
import { healthOf, Install, listInstalls } from './status.ts';
import { formatList } from './text-table.ts';
import { count, flag, maybeText, named, text, waiting } from './values.ts';

/** The customers that are connected, by configuration or by command. */

const StoredLink = named('StoredLink', {
  linkId: z.string(),
  project: maybeText,
  name: maybeText,
  jobId: maybeText,
  tool: maybeText,
  groupId: maybeText,
  outside: maybeText.describe('Why it gives nobody access.'),
});

const InstallInFull = Install.extend({
  people: z.array(z.object({ state: z.enum(membershipStates), count })),
  links: z.array(StoredLink).describe('As last read.'),
  endpoint: Endpoint.nullable().describe('Null without receiver.publicUrl, because nothing is delivered then.'),
  scopes: z.array(z.string()).nullable().describe('What the token may do; null if the marketplace did not say.'),
  isOwnAccount: z.boolean().describe('Whether it is an account of your own, whose token can be rotated here.'),
  hasGuidelines: z.boolean(),
}).meta({ id: 'InstallInFull' });

export type InstallInFull = z.output<typeof InstallInFull>;

export const linkColumns: Columns<z.output<typeof StoredLink>> = [
  ...fieldColumns('project', 'name'),
  ['job', ({ jobId }) => jobId ?? '(none)'],
  ['leads to', sayDestination],
];

function sayDestination({ outside, tool, groupId }: InstallInFull['links'][number]): string {
  if (outside !== null) return `nowhere: ${outside}`;
  return tool === null ? 'not here' : `${tool}, group ${groupId}`;
}

export const peopleColumns: Columns<InstallInFull['people'][number]> = [
  ['state', ({ state }) => state, { as: 'state' }],
  ['people', ({ count: of }) => of, { align: 'right' }],
];

/** The page of a customer waits no longer for a marketplace that does not answer. */
const askedForMs = 3000;

const showInstall = read(
  'GET /installs/{install}',
  'Show one customer: people, links, token and endpoint, and what is wrong with them',
  {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({
      install: text.describe('Its name.'),
      stored: flag('Only what is stored here: do not ask the marketplace about the token and the endpoint.'),
    }),
    out: InstallInFull,
    async run({ install: named, stored }, ctx, call) {
      const install = oneInstall(ctx, named);
      const signal = AbortSignal.any([call.signal, AbortSignal.timeout(askedForMs)]);
      const known = ctx.installs.get(install);
      const [listed] = await listInstalls(ctx, known === undefined ? [] : [[install, known]]);
      const links = (await listLiveLinks(ctx, install)).filter((link) => statusOfLink(link) === 'live');
      const source = ctx.sources.get(install);
      const [endpoint, grant] = await Promise.all([
        findEndpoint(ctx, install, stored, signal),
        stored ? undefined : source?.readGrant(signal).catch(() => undefined),
      ]);
      return {
        ...listed,
        people: await countByState(ctx.database.kysely, install),
        links: links.map((link) => {
          const { linkId, externalProjectId: project, externalProjectName: name, jobId } = link;
          const outside = outsideOf(ctx, link);
          const { tool = null, groupId = null } = outside === null ? (ctx.routeLink(link) ?? {}) : {};
          const says = outside === null ? null : explainCrossing(outside, link).says;
          return { linkId, project, name, jobId, tool, groupId, outside: says };
        }),
        endpoint,
        scopes: grant?.token?.scopes ?? grant?.scopes ?? null,
        isOwnAccount: source?.call !== undefined,
        hasGuidelines: takesGuidelines(ctx, install),
      } as InstallInFull;
    },
    show: ({ people, links, endpoint, scopes, ...install }) =>
      [
        record({ ...install, scopes: scopes?.join(' ') ?? null, endpoint: endpoint?.url ?? endpoint?.failure ?? null }),
        formatList(people, peopleColumns, 'Nobody is in a tool by it.'),
        formatList(links, linkColumns, 'No project is linked.'),
      ].join('\n\n'),
  },
);

/** Without asking the marketplace: when it was last checked, and what was wrong then. */
async function findEndpoint(ctx: OperationContext, install: string, stored: boolean, signal: AbortSignal) {
  if (ctx.config.receiver.publicUrl === undefined) return null;
  if (!stored) return await endpointOf(ctx, install, signal);
  const { checkedAt, trouble } = await findSubscription(ctx, install);
  return { install, checkedAt, trouble: trouble?.says ?? null, action: trouble?.action ?? null, failure: null };
}

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
  // The same for programs that know no character classes.
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
      // A token must not be on a command line.
      hasCommand: false,
      in: z.strictObject({
        install: z
          .string()
          .regex(nameRule.pattern, 'must be 1 to 63 of a-z, 0-9, "-" and "_", and start with a letter or a digit')
          .describe('Your name for the customer.'),
        source: z
          .enum(sourceKinds)
          .optional()
          .describe(
            '"employer" for your own account, with a personal token. By default the present kind, or "platform".',
          ),
        token: z.string().min(1).max(10_000).optional().describe('The token; by default the stored one is kept.'),
        jobs: z
          .array(z.strictObject({ job: text, project: text }))
          .max(1000)
          .default([])
          .describe(
            "For your own account: which job's people work in which project. They are added to the existing links.",
          ),
        tool: text.optional().describe('The configured tool that people are added to.'),
        projects: z.array(project).min(1).max(1000).optional().describe('The projects of the customer.'),
        relink: flag('Link the projects of an earlier connection again.'),
        move: flag('Move an endpoint here that now delivers elsewhere.'),
        acceptOrphans: flag('Go on although the configuration no longer covers people who are in a tool. They stay.'),
        acceptOtherCustomer: flag('Go on although the install belonged to another customer. Their people are removed.'),
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
        const requested = { install, source: given.source, jobs, hasToken: token !== undefined, tool, projects };
        const { source, destination, configured } = settleConnection(ctx, requested);
        const sent = token === undefined ? undefined : toToken(token);
        const used = configured ?? sent ?? (await findConnectedInstall(ctx, install))?.token;
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
        const connection = { install, source, token: used, jobs, destination, ...accepts };
        const established = await establishInstall(ctx, connector, connection, call.signal);
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
        acceptOrphans: flag('Remove it although people are in a tool because of it. They stay.'),
      }),
      out: z.object({
        install: z.string(),
        waiting: z.array(z.string()).describe('What still waits for a person at the marketplace.'),
      }),
      async run({ install: named, acceptOrphans }, ctx, { by }) {
        const install = oneInstall(ctx, named);
        const known = ctx.installs.get(install);
        if (known?.livesIn === 'configuration') {
          throw new AppError('invalid', `${install} is in the configuration. Remove it there`);
        }
        // The memberships that only this install leads to would be orphaned.
        if (!acceptOrphans) {
          await refuseOrphaning(ctx, (link) => (link.install === install ? undefined : ctx.routeLink(link)));
        }
        const waiting = (await listOpenApprovals(ctx, install)).map(({ subject }) => subject);
        await inTransaction(ctx.database, async (tx) => {
          await removeConnectedInstall(tx, install);
          await dropSubscription(tx, install);
          await dropFeed(tx, install);
          await dropPayments(tx, install);
          await dropHires(tx, install);
          await unwatchBudgetsOf(tx, install);
          await dropJobsOf(tx, install);
          await postponeInstalls(tx, [install]);
          await writeAudit(tx, by, 'installs remove', install, { before: known && describeDestination(known) });
        });
        await ctx.registry.load();
        return { install, waiting };
      },
      show: ({ install, waiting }) =>
        `Removed ${install} and its token.${waiting.length > 0 ? ` Still to be decided at the marketplace: ${waiting.join(', ')}.` : ''}`,
    },
  ),
});
