import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import { sayCount } from '../../lib/say-count.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { BegunApproval } from '../../operator/approvals.ts';
import type { Approved, Dropped } from '../../operator/approve-plan.ts';
import { countPlanWork, type PlanWork } from '../../reconcile/runs/run-store.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What became of an approval: the installs of the plan are read first, which takes a while. */
export const approvalViews: readonly View[] = [{ path: '/plans/:id/approvals/:approval', show: showApproval }];

const lookAgainSeconds = 2;

async function showApproval({ params, path }: Asked, ctx: OperationContext): Promise<Page> {
  const plan = params['id'] ?? '';
  const approval = ctx.approvals.find(params['approval'] ?? '');
  const work = await countPlanWork(ctx, toRowId(plan) ?? 0);
  const isUnderWay = approval !== undefined && (approval.outcome === null || (hasDone(approval) && work.left > 0));
  return {
    title: `Approval of plan ${plan}`,
    ...(isUnderWay && { refreshSeconds: lookAgainSeconds }),
    body: html`
      ${approval === undefined || String(approval.plan) !== plan ? unknown : outcomeOf(approval, work)}
      ${isUnderWay && html`<p><a href="${path}">Look again</a></p>`}
      <p><a href="/plans/${encodeURIComponent(plan)}">The plan</a></p>
    `,
  };
}

const unknown = html`<p class="empty">
  This instance does not know of it, or no longer. An approval appears here on the instance where it was asked for, until
  that is started again. What was decided is on the page of the plan.
</p>`;

function hasDone({ outcome }: BegunApproval): boolean {
  return outcome !== null && 'approved' in outcome;
}

function outcomeOf({ plan, by, outcome }: BegunApproval, work: PlanWork): Html {
  return html`<p class="quiet">${by.actor} asked for it, for plan ${plan}, at ${instantOf(by.at)}.</p>
    ${outcome === null ? underWay : describeOutcome(outcome, work)}`;
}

function describeOutcome(outcome: NonNullable<BegunApproval['outcome']>, work: PlanWork): Html {
  return 'error' in outcome ? failedOf(outcome.error) : doneOf(outcome.approved, work);
}

const underWay = html`<p role="status">
  The marketplace is being read, so that nobody is removed who has an active contract by now. That can take a minute.
  Nothing is approved before that.
</p>`;

function failedOf({ code, message }: { code: string; message: string }): Html {
  const says = code === 'internal' ? 'This did not work. The log says why.' : message;
  return html`<p role="alert" class="bad">Nothing was approved.</p>
    <p>${maskText(says)}</p>`;
}

function doneOf({ decided, dropped, open }: Approved, { removed, left }: PlanWork): Html {
  return html`<p role="status" class="good">${sayCount(decided, 'removal is', 'removals are')} approved.</p>
    <p>${removed} of ${removed + left} removed so far. Still to be decided: ${open}.</p>
    <h2>People who stay for now</h2>
    ${tableOf('Whose removal is no longer due as the plan says', dropped, columns, 'None: all are as the plan says.')}`;
}

const columns: readonly Column<Dropped>[] = [
  ['name', ({ displayName, trainerId }) => displayName ?? trainerId],
  ['trainer', ({ trainerId }) => trainerId],
  ['tool', ({ tool }) => tool],
  ['project', ({ groupId }) => maskText(groupId)],
  ['stays because', ({ reason }) => reason],
];
