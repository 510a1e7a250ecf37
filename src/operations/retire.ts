import { z } from 'zod';
import { listOrphans, type OrphanedMembership, retireOrphans } from '../memberships/orphan-store.ts';
import { person, whoColumns } from './access.ts';
import { act, group } from './operation.ts';
import { refuseUnknown } from './pick-installs.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import { count, flag, named, ofTool, text } from './values.ts';

/** People who are in a tool although the configuration no longer covers them. */

const Orphan = named('OrphanedMembership', {
  ...person,
  install: z.string(),
  fate: z.enum(['removed', 'kept']),
  wantedBy: z.int().nullable().describe('Another membership that wants them in the same group.'),
});

const columns: Columns<z.output<typeof Orphan>> = [
  ...whoColumns,
  ['install', ({ install }) => install],
  [
    'would be',
    ({ fate, wantedBy }) => (wantedBy === null || fate === 'removed' ? fate : `kept: wanted by membership ${wantedBy}`),
  ],
  ['membership', ({ membershipId }) => membershipId, { align: 'right' }],
];

const yes = flag('Do it; otherwise they are only listed.');

export const operations = group('retire', {
  now: act('POST /retire', 'Remove people whose install, tool or group is no longer configured', {
    in: z.union([
      z.strictObject({ install: text.describe('Those of one install.'), tool: ofTool, yes }),
      z.strictObject({ tool: text.describe('Those in one tool.'), yes }),
      z.strictObject({ all: z.literal(true).describe('All of them.'), yes }),
    ]),
    out: z.object({
      orphans: z.array(Orphan),
      retired: z
        .object({
          removing: count.describe('How many will be removed from their tool.'),
          released: count.describe('How many are kept, because their tool is not configured.'),
          kept: count.describe('How many stay, because another membership wants them in the same group.'),
        })
        .nullable()
        .describe('Null if nothing was changed.'),
    }),
    async run({ yes, ...input }, ctx, { by }) {
      const filter: { install?: string; tool?: string | undefined } = 'all' in input ? {} : input;
      const orphans = await listOrphans(ctx, filter);
      if (orphans.length === 0) refuseUnknown(ctx, filter);
      const tools = new Set(ctx.config.tools.keys());
      return {
        orphans: orphans.map(({ id, ...orphan }) => ({ membershipId: id, ...orphan, fate: fateOf(orphan, tools) })),
        retired: yes ? await retireOrphans(ctx, orphans, tools, by) : null,
      };
    },
    show({ orphans, retired }) {
      if (orphans.length === 0) {
        return 'There is nobody to retire: people are orphaned once "gangway start --accept-orphans" has run.';
      }
      if (retired === null) return `${formatList(orphans, columns, '')}\n\nNothing was changed; --yes retires them.`;
      const { removing, released, kept } = retired;
      const left = released === 0 ? '' : ` ${released} are kept: their tool is not configured.`;
      const wanted = kept === 0 ? '' : ` ${kept} stay: another membership wants them in the same group.`;
      return `${removing} will be removed.${left}${wanted}`;
    },
  }),
});

function fateOf({ tool, wantedBy }: Pick<OrphanedMembership, 'tool' | 'wantedBy'>, tools: ReadonlySet<string>) {
  return tools.has(tool) && wantedBy === null ? ('removed' as const) : ('kept' as const);
}
