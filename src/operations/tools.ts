import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { locationOf } from '../tools/bind-tool.ts';
import { listToolBindings, setToolBinding } from '../tools/tool-binding-store.ts';
import { askTool } from './check-tools.ts';
import { act, group, read } from './operation.ts';
import { type Columns, table } from './show.ts';
import { maybeText, named, text } from './values.ts';

/** The tools that are configured, and the servers that their people are in. */

const Server = z.object({ identity: maybeText, location: maybeText });

const Tool = named('Tool', {
  tool: z.string(),
  location: maybeText.describe('Its address in the configuration.'),
  bound: Server.nullable().describe('The server that its people are in; null before it was first asked.'),
});

const columns: Columns<z.output<typeof Tool>> = [
  ['tool', ({ tool }) => tool],
  ['address', ({ location }) => location],
  ['its people are in', ({ bound }) => (bound === null ? 'not asked yet' : sayServer(bound))],
];

export const operations = group('tools', {
  list: read('GET /tools', 'List the configured tools and the server that the people of each are in', {
    in: z.strictObject({}),
    out: z.object({ tools: z.array(Tool) }),
    async run(_none, ctx) {
      const bindings = new Map((await listToolBindings(ctx)).map((one) => [one.tool, one]));
      const configured = [...ctx.config.tools];
      return {
        tools: configured.map(([tool, { settings }]) => {
          return { tool, location: locationOf(settings), bound: bindings.get(tool) ?? null };
        }),
      };
    },
    show: table(columns, 'No tool is configured.', 'tools'),
  }),
  accept: act(
    'POST /tools/{tool}/accept',
    'Confirm that the server at the address of a tool is the one its people are in',
    {
      asks: 'tools',
      in: z.strictObject({ tool: text.describe('Its name in the configuration.') }),
      out: Server.extend({ tool: z.string() }),
      async run({ tool }, ctx, { by, signal }) {
        const [adapter, settings] = [ctx.adapters.get(tool), ctx.config.tools.get(tool)?.settings];
        if (adapter === undefined || settings === undefined) {
          const known = [...ctx.adapters.keys()].join(', ');
          throw new AppError('not_found', `There is no tool "${tool}"; there are: ${known}`);
        }
        const server = await askTool(adapter, settings, signal);
        await inTransaction(ctx.database, async (tx) => {
          await setToolBinding(tx, tool, server);
          await writeAudit(tx, by, 'tools accept', tool);
        });
        return { tool, ...server };
      },
      show: ({ tool, ...server }) => `${tool} is ${sayServer(server)} now.`,
    },
  ),
});

function sayServer({ identity, location }: z.output<typeof Server>): string {
  return [identity, location].filter((part) => part !== null).join(' at ');
}
