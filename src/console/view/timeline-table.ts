import { html } from 'hono/html';
import type { Explanation } from '../../operator/explain.ts';
import type { Timeline } from '../../operator/timeline/load-timeline.ts';
import type { TimelineStep } from '../../operator/timeline/timeline.ts';
import type { Html } from '../page.ts';
import { exactOf } from './instant.ts';

function seeOf({ deliveryId, membershipId, actId }: TimelineStep): Html | string {
  if (deliveryId !== undefined) return html` <a href="/deliveries/${deliveryId}">delivery ${deliveryId}</a>`;
  if (actId !== undefined) return html` <a href="/acts/${actId}">act ${actId}</a>`;
  return membershipId === undefined ? '' : html` <a href="/memberships/${membershipId}">membership ${membershipId}</a>`;
}

const noSteps = 'Nothing has happened yet. A delivery, a reading or an act of an operator appears here.';

export function timelineTable({ steps, isCutOff }: Timeline): Html {
  if (steps.length === 0) return html`<p class="empty">${noSteps}</p>`;
  const items = steps.map((step) => html`<li>${exactOf(step.at)}<span>${step.says}${seeOf(step)}</span></li>`);
  return html`<ol class="line">
      ${items}
    </ol>
    ${isCutOff && html`<p class="quiet">Older steps are left out.</p>`}`;
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

function explanationOf({ trainerId, displayName, install, contractId, steps, action }: Explanation): Html {
  const who = displayName ?? trainerId ?? 'No trainer';
  return html`<h3 class="sub">
      ${who}, by contract <a href="/contracts/${encodeURIComponent(contractId)}">${contractId}</a> of ${install}
    </h3>
    <ul class="steps">
      ${steps.map(({ holds, says }) => html`<li class="${holds ? '' : 'no'}"><span>${says}</span></li>`)}
    </ul>
    ${action !== null && html`<p class="sub">To do: ${action}</p>`}`;
}
