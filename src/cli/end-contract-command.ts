import type { ContractEvidence } from '../domain/evidence.ts';
import { createInstallRegistry } from '../installs/install-registry.ts';
import { stripControl } from '../lib/text.ts';
import type { EndApproval } from '../marketplace/source.ts';
import { type EndedAtMarketplace, endAtMarketplace } from '../operations/contracts.ts';
import { askTyped } from './ask.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession, Terminal } from './session.ts';
import { decidedBy } from './with-storage.ts';

interface ContractEnd {
  contract: string;
  install: string | undefined;
  confirm: string | undefined;
  /** Whether to leave before the decision. */
  leave: boolean;
}

/** `gangway contracts end-at-marketplace` */
export async function runContractsEndAtMarketplace(named: ContractEnd, session: StorageSession): Promise<Printed> {
  const { config, storage, terminal } = session;
  const { sources, load } = createInstallRegistry(storage, config);
  await load();
  const options = {
    follows: !named.leave,
    confirm: (contract: ContractEvidence) => confirmEnd(terminal, contract, named.confirm),
    onApproval: (approval: EndApproval) => void terminal.stderr.write(`${toApprovalText(approval)}\n`),
  };
  return printEnded(await endAtMarketplace({ ...storage, sources }, decidedBy(), named, options, terminal.signal));
}

/** The id must be typed, because the end cannot be taken back. */
async function confirmEnd(
  terminal: Terminal,
  { install, contractId, title }: ContractEvidence,
  given: string | undefined,
): Promise<boolean> {
  if (given !== undefined) return given === contractId;
  const name = stripControl(title ?? 'without a title');
  const lines = [
    `This ends the contract ${contractId} (${name}) of ${install} at the marketplace, for good.`,
    'Its trainer loses access when the marketplace lists it as ended. Where money is funded, a person there must confirm.',
  ];
  if (terminal.stdin.isTTY === true) terminal.stderr.write(`${lines.join('\n')}\n`);
  return (await askTyped(terminal, 'Type the id of the contract to go on:')) === contractId;
}

export function toApprovalText({ id, url, expiresAt }: Omit<EndApproval, 'status'>): string {
  const until = expiresAt === null ? '' : ` until ${expiresAt}`;
  return `The approval ${id} waits${until} for a person at the marketplace: ${url ?? 'see your account there'}`;
}

function printEnded(ended: EndedAtMarketplace): Printed {
  const { install, contractId, outcome } = ended;
  const texts = {
    ended: `The marketplace has ended the contract ${contractId}. A running "gangway start" reads ${install} now; without one: gangway reconcile --install ${install}`,
    pending: `The end of the contract ${contractId} waits for a person at the marketplace. The same command follows it again.`,
    declined: `A person at the marketplace has declined the end of the contract ${contractId}: it goes on.`,
    expired: `No person at the marketplace has confirmed the end of the contract ${contractId} in time: it goes on.`,
  };
  const statuses = { ended: 0, pending: 2, declined: 1, expired: 1 } as const;
  return { data: ended, text: () => texts[outcome], status: statuses[outcome] };
}
