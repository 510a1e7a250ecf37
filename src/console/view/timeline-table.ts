import { html } from 'hono/html';
import type { Explanation } from '../../operator/explain.ts';
import type { Timeline } from '../../operator/timeline/load-timeline.ts';
import type { TimelineStep } from '../../operator/timeline/timeline.ts';
import type { Html } from '../page.ts';
import { instantOf } from './instant.ts';
import { type Column, tableOf } from './table.ts';

const columns: readonly Column<TimelineStep>[] = [
  ['when', ({ at }) => instantOf(at)],
  ['step', ({ kind }) => kind],
  ['what', ({ says }) => says],
  ['see', seeOf],
];

function seeOf({ deliveryId, membershipId, actId }: TimelineStep): Html | string {
  if (deliveryId !== undefined) return html`<a href="/deliveries/${deliveryId}">delivery ${deliveryId}</a>`;
  if (actId !== undefined) return html`<a href="/acts/${actId}">act ${actId}</a>`;
  return membershipId === undefined ? '' : html`<a href="/memberships/${membershipId}">membership ${membershipId}</a>`;
}

const noSteps = 'Nothing has happened yet. A delivery, a reading or an act of an operator appears here.';

export function timelineTable({ steps, isCutOff }: Timeline): Html {
  return html`
    ${tableOf('What happened, the oldest first', steps, columns, noSteps)}
    ${isCutOff && html`<p class="quiet">Older steps are left out.</p>`}
  `;
}

/** So many explanations a page shows. */
const mostExplained = 50;

export function explanationsOf(explanations: readonly Explanation[]): Html {
  if (explanations.length === 0) return html`<p class="empty">No contract is known that gives a reason.</p>`;
  const left = explanations.length - mostExplained;
  return html`
    ${explanations.slice(0, mostExplained).map(explanationOf)}
    ${left > 0 && html`<p class="quiet">${left} more are left out: see the page of one trainer.</p>`}
  `;
}

const stepColumns: readonly Column<Explanation['steps'][number]>[] = [
  ['holds', ({ holds }) => (holds ? html`<span class="good">yes</span>` : html`<span class="warn">no</span>`)],
  ['step', ({ step }) => step],
  ['what is known', ({ says }) => says],
];

function explanationOf(explanation: Explanation, index: number): Html {
  const { trainerId, displayName, install, contractId, steps, action } = explanation;
  const who = displayName ?? trainerId ?? 'no trainer';
  const contract = html`<a href="/contracts/${encodeURIComponent(contractId)}">${contractId}</a>`;
  return html`
    <h3>${who}, by contract ${contract} of ${install}</h3>
    ${tableOf(`Reason ${index + 1}: why ${who} has access by contract ${contractId}, or not`, steps, stepColumns, '')}
    ${action !== null && html`<p>To do: ${action}</p>`}
  `;
}
