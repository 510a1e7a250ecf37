import { sayAge } from '../lib/say-age.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Trouble } from '../lib/troubles.ts';
import { sayPercent } from '../operations/show.ts';
import type { Check } from '../operator/doctor-checks.ts';
import type { ExplainedBudget } from '../operator/explain-budgets.ts';

/** Texts that several commands print. */

const marks = { ok: ' ok ', warning: 'warn', failure: 'FAIL' };

/** One line for the result, and one for what to do about it. */
export function toCheckText({ name, status, says, action }: Check): string {
  const line = `${marks[status]}  ${stripControl(`${name}: ${says}`)}`;
  return action === null ? line : `${line}\n      → ${stripControl(action)}`;
}

/** One line on what it is and since when, one on what lies behind it, and one on what to do. */
export function toTroubleText({ severity, says, since, detail, action }: Trouble): string {
  const age = since === null ? '' : ` (${sayAge(Date.now() - Date.parse(since))})`;
  const lines = [`${says}${age}`, ...(detail === null ? [] : [detail]), `→ ${action}`];
  return `  ${severity.padEnd(7)}  ${lines.map(stripControl).join(`\n${' '.repeat(11)}`)}`;
}

/** Lines of text: the state of the budget, when it was read, and the last notice about it. */
export function toBudgetText(budget: ExplainedBudget): string {
  const { install, contractId, askedAt, nextReadAt, failure, lastNotice } = budget;
  const next = nextReadAt === null ? 'no other reading is planned' : `to be read after ${nextReadAt}`;
  const lines = [
    `The budget of contract ${contractId} of ${install}`,
    `  state  ${toStateText(budget)}`,
    `  read   ${askedAt === null ? 'not yet' : `at ${askedAt}`}; ${next}`,
    `  notice ${lastNotice === null ? 'none yet' : `${lastNotice.state}, at ${lastNotice.at}`}`,
  ];
  if (failure !== null) lines.push(`  fails  ${failure}`);
  return lines.map(stripControl).join('\n');
}

function toStateText({ state, consumedFraction, ...budget }: ExplainedBudget): string {
  const { fundedVolume, remainingVolume } = budget;
  if (state === null) return 'not known';
  if (consumedFraction === null || fundedVolume === null) return state;
  const left = remainingVolume === null ? '' : `, ${toRounded(remainingVolume)} left`;
  return `${state}: ${sayPercent(consumedFraction)} of ${toRounded(fundedVolume)} used${left}`;
}

function toRounded(volume: number): number {
  return Number(volume.toFixed(2));
}
