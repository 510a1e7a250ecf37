import { loadAdapters } from '../adapters/load-adapters.ts';
import { type Handover, renewInvitationOf, takeInvitation } from '../converge/handover-store.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway members invitation` and `renew`: invitations that the tool does not send itself. */

export async function runMembersInvitation(
  { membership }: { membership: number },
  { storage }: StorageSession,
): Promise<Printed> {
  const handover = await takeInvitation(storage, membership, decidedBy());
  return printInvitation(membership, handover);
}

export function printInvitation(membership: number, handover: Handover): Printed {
  const { content, expiresAt } = handover;
  return { data: { membership, invitation: { ...content, expiresAt } }, text: () => toText(handover) };
}

export async function runMembersRenew(
  { membership }: { membership: number },
  { config, storage }: StorageSession,
): Promise<Printed> {
  const adapters = await loadAdapters(config);
  const canRenew = (tool: string) => adapters.get(tool)?.renewInvitation !== undefined;
  await renewInvitationOf(storage, membership, canRenew, decidedBy());
  return printRenewed(membership);
}

export function printRenewed(membership: number): Printed {
  return {
    data: { membership, decision: 'renew' },
    text: () => `Membership ${membership} is invited anew by a running "gangway start".`,
  };
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
