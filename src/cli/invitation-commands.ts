import { Command } from 'commander';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createHandoverStore, type Handover } from '../converge/handover-store.ts';
import { stripControl } from '../lib/strip-control.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { toRowNumber } from './count-option.ts';
import type { Terminal } from './terminal.ts';

/** `gangway members invitation`: what somebody gets in with, for an operator who tells them. */
export function createShowInvitationCommand(terminal: Terminal): Command {
  return new Command('invitation')
    .description('show, this once, what somebody gets in with, for you to tell them')
    .argument('<membership>', 'its number in the list', toRowNumber)
    .option('--json', 'print one JSON object instead of text')
    .action((id: number, _: object, command: Command) =>
      withStorage(command, async ({ database, box }) => {
        const handover = await createHandoverStore(database, box).take(id, decidedBy());
        const { content, expiresAt } = handover;
        const shown = { membership: id, invitation: { ...content, expiresAt } };
        print(terminal, jsonOf(command), shown, () => toText(handover));
      }),
    );
}

/** `gangway members renew`. */
export function createRenewCommand(terminal: Terminal): Command {
  return new Command('renew')
    .description('have the tool invite somebody anew who has not come yet')
    .argument('<membership>', 'its number in the list', toRowNumber)
    .option('--json', 'print one JSON object instead of text')
    .action((id: number, _: object, command: Command) =>
      withStorage(command, async ({ database, box }, config) => {
        const adapters = await loadAdapters(config);
        const canRenew = (tool: string) => adapters.get(tool)?.renewInvitation !== undefined;
        await createHandoverStore(database, box).renew(id, canRenew, decidedBy());
        const text = `Membership ${id} is invited anew by a running "gangway start".`;
        print(terminal, jsonOf(command), { membership: id, decision: 'renew' }, () => text);
      }),
    );
}

/** The list has the option too, and takes it wherever it stands. */
function jsonOf(command: Command): true | undefined {
  return command.optsWithGlobals<{ json?: true }>().json;
}

function toText({ content, expiresAt }: Handover): string {
  const rows: [string, string | null][] =
    content.kind === 'link'
      ? [['link', content.url]]
      : [
          ['url', content.url],
          ['username', content.username],
          ['password', content.password],
        ];
  const known = [...rows, ['expires', expiresAt] as const].flatMap(([title, value]) =>
    value === null ? [] : [`${title.padEnd(9)} ${stripControl(value)}`],
  );
  return [...known, 'Tell them yourself: it is not kept, and cannot be shown again.'].join('\n');
}
