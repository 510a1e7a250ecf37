import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { ContractEvidence } from '../../domain/evidence.ts';
import { contractStatuses, statusOfContract } from '../../domain/evidence-status.ts';
import type { ContractPosition } from '../../evidence/contract-store.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { sayPercent } from '../../operations/show.ts';
import { type ContractDecision, decideContract } from '../../operator/decide-contract.ts';
import { type ListedContract, listContracts } from '../../operator/list-contracts.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { stateBadge } from '../view/badge.ts';
import { chosen, chosenOf, filterForm, pager, sayContractKey, toContractKey } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What is known of the contracts, and an operator's word about one that is in doubt. */
export const contractViews: readonly View[] = [{ path: '/contracts', show: showContracts }];

export const contractActs: readonly Act[] = [
  { path: '/contracts/:id/end', act: (asked, ctx) => decide('end', asked, ctx) },
  { path: '/contracts/:id/reopen', act: (asked, ctx) => decide('reopen', asked, ctx) },
];

const pageSize = 100;
const yes = ['yes'] as const;

async function showContracts(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { query } = asked;
  const found = await listContracts(ctx, {
    install: chosen(query, 'install'),
    status: chosenOf(query, 'status', contractStatuses),
    suspects: chosenOf(query, 'suspects', yes) !== undefined,
    after: toPosition(query.get('after')),
    limit: pageSize + 1,
  });
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  return {
    title: 'Contracts',
    body: html`
      ${filterForm(asked, [
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
        { name: 'status', label: 'status', options: contractStatuses },
        { name: 'suspects', label: 'in no list any more', options: yes },
      ])}
      ${tableOf('Contracts, those with the least of their budget left first', shown, columns, noContracts)}
      ${pager(asked, last && sayPosition(last), 'after')}
    `,
  };
}

function sayPosition(contract: ContractPosition): string {
  return `${contract.remainingFraction ?? ''}/${sayContractKey(contract)}`;
}

function toPosition(text: string | null): ContractPosition | undefined {
  const [, left, key = null] = /^([\d.e-]*)\/(.*)$/.exec(text ?? '') ?? [];
  const contract = toContractKey(key);
  return contract && { ...contract, remainingFraction: left ? Number(left) : null };
}

const noContracts =
  'There is no such contract. One appears when the marketplace tells of it, by a delivery or in a reading.';

const columns: readonly Column<ListedContract>[] = [
  [
    'contract',
    ({ contractId, title }) =>
      html`<a href="/contracts/${encodeURIComponent(contractId)}">${maskText(title ?? contractId)}</a><small class="id">${contractId}</small>`,
  ],
  ['install', ({ install }) => install],
  ['status', ({ status }) => stateBadge(status)],
  ['people', ({ people }) => people, 'number'],
  ['budget used', ({ consumedFraction }) => sayPercent(consumedFraction), 'number'],
  ['last heard of', ({ heardAt }) => instantOf(heardAt)],
  [
    'in no list since',
    ({ suspectSince }) => suspectSince && html`<span class="warn">${instantOf(suspectSince)}</span>`,
  ],
];

const says: Record<ContractDecision, { button: string; what: string }> = {
  end: {
    button: 'It is over',
    what: 'Say that it is over: its trainers lose the access that they have by it, at once.',
  },
  reopen: { button: 'It goes on', what: 'Say that it goes on, although its end was delivered.' },
};

/** What an operator can say of a contract. What the marketplace itself lists as ended stays so. */
export function decisionsOf(asked: Asked, contract: ContractEvidence): Html {
  const status = statusOfContract(contract);
  const { install, contractId, endedReadAt } = contract;
  const mayReopen = endedReadAt === null && (status === 'ended' || status === 'disputed');
  const open = (['end', 'reopen'] as const).filter((one) => (one === 'end' ? status !== 'ended' : mayReopen));
  return html`${open.map((decision) => {
    const { button, what } = says[decision];
    const action = `/contracts/${encodeURIComponent(contractId)}/${decision}?${new URLSearchParams({ install })}`;
    const label = `${button}: contract ${contractId} of ${install}`;
    return formOf(
      asked,
      action,
      html`<p>${what} <button class="${decision === 'end' ? 'danger' : ''}" aria-label="${label}">${button}</button></p>`,
    );
  })}`;
}

async function decide(decision: ContractDecision, asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const contractId = asked.params['id'] ?? '';
  const install = chosen(asked.query, 'install');
  if (install === undefined) throw new AppError('invalid', 'Say of which install the contract is');
  await decideContract(ctx, asked.by, decision, contractId, install);
  return { redirect: `/contracts/${encodeURIComponent(contractId)}` };
}
