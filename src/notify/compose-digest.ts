import type { AlertNotice, BudgetFacts, BudgetKind, NewNotice } from '../domain/notice.ts';
import { runbookOf } from '../lib/alerts.ts';
import { sayCount, stripControl, withoutLinks } from '../lib/text.ts';
import { adviceOf } from '../lib/troubles.ts';
import { sayInstant } from '../lib/units.ts';

/** A message for people: a title, and one line for each notice. */
export interface Digest {
  title: string;
  lines: string[];
}

/** The most serious first. */
const words = new Map<BudgetKind, string>([
  ['budget.depleted', 'DEPLETED'],
  ['budget.low', 'LOW'],
  ['budget.ok', 'OK again'],
]);
const order = [...words.keys()];

/**
 * Pure.
 *
 * @param maxLength of the whole text in characters, with the line ends; notices that do not fit are only counted
 * @param toPlain escapes the characters that have a meaning in the channel
 */
export function composeDigest(
  notices: readonly NewNotice[],
  maxLength: number,
  toPlain = (line: string) => line,
): Digest {
  if (notices.length === 0) return { title: 'Gangway: a test notice', lines: [] };
  const sorted = notices.toSorted((one, other) => rankOf(one) - rankOf(other));
  const title = toTitle(notices);
  const lines: string[] = [];
  let left = maxLength - title.length - 1 - toRest(notices.length).length;
  for (const [at, notice] of sorted.entries()) {
    const line = toPlain(toLine(notice));
    left -= line.length + 1;
    if (left < 0) return { title, lines: [...lines, toRest(sorted.length - at)] };
    lines.push(line);
  }
  return { title, lines };
}

/** Alerts come first: open ones, then resolved ones. */
function rankOf(notice: NewNotice): number {
  if ('about' in notice) return notice.isOver ? -1 : -2;
  return order.indexOf(notice.kind);
}

function toTitle(notices: readonly NewNotice[]): string {
  const alerts = notices.filter((notice) => 'about' in notice);
  const over = alerts.filter(({ isOver }) => isOver).length;
  const raised = alerts.length - over;
  const parts = [
    ...(raised === 0 ? [] : [sayCount(raised, 'alert')]),
    ...(over === 0 ? [] : [`${sayCount(over, 'alert')} resolved`]),
    ...(alerts.length === notices.length ? [] : [toBudgetTitle(notices)]),
  ];
  return `Gangway: ${parts.join('; ')}`;
}

function toBudgetTitle(notices: readonly NewNotice[]): string {
  const counts = order.flatMap((kind) => {
    const count = notices.filter((notice) => notice.kind === kind).length;
    return count === 0 ? [] : [`${count} ${words.get(kind)}`];
  });
  return `contract budgets: ${counts.join(', ')}`;
}

function toRest(count: number): string {
  return `… and ${count} more: gangway notifications list`;
}

function toLine(notice: NewNotice): string {
  if ('about' in notice) return toAlertLine(notice);
  const { kind, install, contractId, isRepeat, budget, occurredAt } = notice;
  const word = `${isRepeat ? 'still ' : ''}${words.get(kind)}`;
  const subject = `contract ${toShown(contractId)} of ${toShown(install)}`;
  return [word, subject, ...sayBudget(budget), sayInstant(occurredAt), ...sayAdvice(kind)].join(' · ');
}

function toAlertLine({ kind, isOver, isRepeat, since, occurredAt, message, about }: AlertNotice): string {
  const word = isOver ? 'RESOLVED' : `${isRepeat ? 'still ' : ''}ALERT`;
  return [
    word,
    withoutLinks(stripControl(message)),
    // The only link in a message is where a person acts.
    ...Object.entries(about).map(([name, id]) => `${name} ${name === 'url' ? stripControl(id) : toShown(id)}`),
    sayInstant(occurredAt),
    ...(isOver || isRepeat ? [`since ${sayInstant(since)}`] : []),
    ...(isOver ? [] : sayAdvice(kind)),
    runbookOf(kind),
  ].join(' · ');
}

function sayAdvice(kind: string): string[] {
  const advice = adviceOf(kind);
  return advice === null ? [] : [`do: ${advice}`];
}

function sayBudget(budget: BudgetFacts): string[] {
  const { consumedFraction, remainingVolume, fundedVolume, fundedAmountUsd } = budget;
  const funded = fundedVolume === null ? '' : ` of ${round(fundedVolume)}`;
  return [
    ...(consumedFraction === null ? [] : [`${toPercent(consumedFraction)} % used`]),
    ...(remainingVolume === null ? [] : [`${round(remainingVolume)} left${funded}`]),
    ...(fundedAmountUsd === null ? [] : [`${round(fundedAmountUsd)} USD funded`]),
  ];
}

/** Rounded down: 99.9 % is not 100 %. The rounding before it mends 0.29 * 100, which is a little less than 29. */
function toPercent(fraction: number): number {
  return Math.floor(Math.round(fraction * 1e6) / 1e4);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const longestId = 100;

/** The marketplace chooses the ids: shown on one line, without links and mentions. */
function toShown(id: string): string {
  const shown = stripControl(id).slice(0, longestId).toWellFormed();
  return withoutLinks(shown.replaceAll('@', '(at)'));
}
