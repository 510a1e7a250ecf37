import { html } from 'hono/html';
import { AppError } from '../../../domain/errors.ts';
import type { Act } from '../../../operations/audit.ts';
import { budgetDayColumns, type ContractBudget } from '../../../operations/budgets.ts';
import type { DeliveryInFull } from '../../../operations/deliveries.ts';
import { type Setting, settingColumns } from '../../../operations/settings.ts';
import { contractPath, sayPercent, trainerPath } from '../../../operations/show.ts';
import { sayWork, workPath } from '../../../operations/usage-values.ts';
import type { ConsoleContext, Download, Page, PageRequest } from '../page.ts';
import { actButton, ask, askLink } from '../run-operation.ts';
import { toRowId } from '../view/form.ts';
import { recordOf, sheetOf, stateBadge, tableOf } from '../view/table.ts';

export async function showAct(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const { id, action, ...act } = await ask<Act>(request, ctx, 'auditShow', { act: numberIn(request, 'act') });
  return { title: `${action} (act ${id})`, body: recordOf(act) };
}

export async function showDelivery(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const delivery = numberIn(request, 'delivery');
  const found = await ask<DeliveryInFull>(request, ctx, 'deliveriesShow', { delivery });
  const { body, bodyProblem, contractId, trainerId, state, headers, ...facts } = found;
  return {
    title: `Delivery ${delivery}`,
    note: stateBadge(state),
    acts:
      body === null ? '' : actButton(request, 'deliveriesReplay', { ids: delivery }, { label: 'Replay this delivery' }),
    body: html`
      ${recordOf(facts)}
      ${sheetOf([
        ['contract', contractId && html`<a href="${contractPath(contractId)}">${contractId}</a>`],
        ['trainer', trainerId && html`<a href="${trainerPath(trainerId)}">${trainerId}</a>`],
      ])}
      <h2>The body</h2>
      ${body === null ? html`<p class="empty">${bodyProblem}.</p>` : html`<p class="quiet">Addresses and tokens are masked here.</p><pre>${body}</pre>`}
      ${body !== null && request.operator.role === 'operator' && html`<p><a href="/deliveries/${delivery}/body">Download the body as received</a></p>`}
      <h2>Headers</h2>
      ${recordOf(headers)}
    `,
  };
}

export async function downloadBody(request: PageRequest, ctx: ConsoleContext): Promise<Download> {
  const delivery = numberIn(request, 'delivery');
  const { body } = await ask<{ body: string }>(request, ctx, 'deliveriesBody', { delivery });
  return { fileName: `delivery-${delivery}`, type: 'application/octet-stream', content: Buffer.from(body, 'base64') };
}

export async function showBudget(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const contract = request.params['contract'];
  const install = request.query.get('install') ?? undefined;
  const found = await ask<ContractBudget>(request, ctx, 'budgetsShow', { contract, install });
  const { title, contractId, unit, lately, days, consumedFraction, ...budget } = found;
  const isOwn = ctx.sources.get(found.install)?.call !== undefined;
  return {
    title: `Budget of “${title ?? contractId}”`,
    acts: isOwn ? askLink(request, 'budgetsTopUp', { install: found.install }, 'Top up the credits') : '',
    body: html`
      ${recordOf({ ...budget, used: sayPercent(consumedFraction), ...(unit && { 'in a week': sayWork(unit, lately) }) })}
      <p><a href="${contractPath(contractId)}">The contract</a> · <a href="${workPath(found)}">The work: due and reported</a></p>
      <h2>Used by day</h2>
      ${tableOf('What was reported for each day, the latest first', days, budgetDayColumns(unit), 'Nothing was reported for the last 60 days.')}
    `,
  };
}

export function showDoctor(request: PageRequest): Page {
  return {
    title: 'Doctor',
    body: html`
      <p>The doctor checks the tools, the marketplace and the database. It changes nothing.</p>
      ${actButton(request, 'doctorRun', {}, { label: 'Check everything now', tone: 'main' })}
    `,
  };
}

/** Secrets are never shown. */
export async function showSettings(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const { settings } = await ask<{ settings: Setting[] }>(request, ctx, 'settingsList');
  const sections = Map.groupBy(settings, ({ key }) => key.split('.')[0] ?? key);
  return {
    title: 'Settings',
    body: html`
      <p>This is the configuration that the instance was started with. To change it, edit the file and restart.</p>
      ${[...sections].map(([name, keys]) => {
        const changed = keys.filter(({ isDefault, value }) => !isDefault && value !== 'not set').length;
        return html`<details>
          <summary>${name}${changed > 0 && html` <span class="quiet">${changed} configured</span>`}</summary>
          ${tableOf(`The settings under ${name}`, keys, settingColumns, '')}
        </details>`;
      })}
    `,
  };
}

/** @throws AppError `not_found` if the parameter is not the number of a row */
export function numberIn({ params }: PageRequest, name: string): number {
  const number = toRowId(params[name]);
  if (number === undefined) throw new AppError('not_found', `There is no such ${name}`);
  return number;
}
