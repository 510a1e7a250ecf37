import { z } from 'zod';
import { statusOfLink } from '../domain/evidence-status.ts';
import { membershipStates } from '../domain/membership.ts';
import { listLiveLinks } from '../evidence/link-store.ts';
import { takesGuidelines } from '../guidelines/read-targets.ts';
import { findSubscription } from '../installs/subscription/subscription-store.ts';
import { explainCrossing } from '../memberships/explain-crossing.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { outsideOf } from '../memberships/wall.ts';
import { Endpoint, endpointOf } from './endpoint.ts';
import { Install, listInstalls } from './list-installs.ts';
import { type OperationContext, read } from './operation.ts';
import { type Columns, fieldColumns, record } from './show.ts';
import { formatList } from './text-table.ts';
import { count, maybeText, oneInstall, text } from './values.ts';

/** One customer: the people, the links, and what the marketplace says of the token and the endpoint. */

const StoredLink = z
  .object({
    linkId: z.string(),
    project: maybeText,
    name: maybeText,
    jobId: maybeText,
    tool: maybeText,
    groupId: maybeText,
    outside: maybeText.describe('Why nobody gets in by it.'),
  })
  .meta({ id: 'StoredLink' });

const InstallInFull = Install.extend({
  people: z.array(z.object({ state: z.enum(membershipStates), count })),
  links: z.array(StoredLink).describe('As last read.'),
  endpoint: Endpoint.nullable().describe('Null if nothing is delivered, as receiver.publicUrl is not configured.'),
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

/** The page of a customer is not to wait longer for a marketplace that does not answer. */
const askedForMs = 3000;

export const showInstall = read(
  'GET /installs/{install}',
  'Show one customer: people, links, token and endpoint, and what is wrong with them',
  {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({
      install: text.describe('Its name.'),
      stored: z
        .boolean()
        .default(false)
        .describe('Only what is stored here: do not ask the marketplace about the token and the endpoint.'),
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
        isOwnAccount: source?.createToken !== undefined,
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

/** Of what is stored, only when it was last checked, and what was wrong then. */
async function findEndpoint(ctx: OperationContext, install: string, stored: boolean, signal: AbortSignal) {
  if (ctx.config.receiver.publicUrl === undefined) return null;
  if (!stored) return await endpointOf(ctx, install, signal);
  const { checkedAt, trouble } = await findSubscription(ctx, install);
  return { install, checkedAt, trouble: trouble?.says ?? null, action: trouble?.action ?? null, failure: null };
}
