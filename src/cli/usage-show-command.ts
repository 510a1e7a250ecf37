import type { Services } from '../app/services.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type Counts, countNames } from '../domain/usage.ts';
import { createContractStore } from '../evidence/contract-store.ts';
import { maskText } from '../lib/mask.ts';
import { describeDifference } from '../usage/compare/describe-difference.ts';
import { createImportStore } from '../usage/import/import-store.ts';
import { type ConsumedExplanation, explainConsumed } from '../usage/show/explain-consumed.ts';
import { type ContractGaps, showGaps } from '../usage/show/show-gaps.ts';
import { type ShownContract, type ShownDay, type ShownObservation, showUsage } from '../usage/show/show-usage.ts';
import type { Printed } from './define-command.ts';
import type { ServicesSession } from './session.ts';
import { type Columns, formatList } from './table.ts';

interface NamedContract {
  contract: string;
  install: string | undefined;
}

/** `gangway usage show`: the work on one contract, as the tool, the ledger and the marketplace know it. */
export async function runUsageShow(
  { contract: id, install }: NamedContract,
  { terminal, services }: ServicesSession,
): Promise<Printed> {
  const { database, usage } = services;
  const [contract, other] = await createContractStore(database).find(database.kysely, id, install);
  if (contract === undefined) throw new AppError('not_found', `There is no contract ${id}`);
  if (other !== undefined) throw new AppError('conflict', `Several installs have a contract ${id}: name one`);
  const { ledger, ...shown } = await showUsage(usage.deps, contract.install, id);
  const consumed = await readConsumed(services, contract.install, id, terminal.signal);
  const explained = typeof consumed === 'string' ? null : explainConsumed(ledger, shown.reported, consumed);
  const gaps = await showGaps(usage.deps, contract.install, id);
  const differences = [...explain(shown), ...toVerdict(explained), ...sayGaps(gaps)];
  const files = await nameFiles(services, shown);
  return {
    data: { ...shown, ...gaps, files, consumed, explained, differences },
    text: () => [toTable(shown, files), '', ...toSums(shown, consumed), ...differences].join('\n'),
  };
}

type Shown = Omit<ShownContract, 'ledger'>;

/** The names of the imported files, by source. */
async function nameFiles({ database }: Services, { days }: Shown): Promise<Record<string, string>> {
  const sources = new Set(days.flatMap(({ observations }) => observations.map(({ source }) => source)));
  const imports = createImportStore(database);
  const files: Record<string, string> = {};
  for (const source of sources) {
    const id = /^import:(\d+)$/.exec(source)?.[1];
    const found = id === undefined ? undefined : await imports.find(database.kysely, Number(id));
    if (found !== undefined) files[source] = found.fileName;
  }
  return files;
}

type Consumed = Counts | string;

/** @returns a text that says why, if the marketplace gave no answer */
async function readConsumed(
  { sources }: Services,
  install: string,
  contractId: string,
  signal: AbortSignal,
): Promise<Consumed> {
  try {
    const budget = await sources.get(install)?.readBudget(contractId, signal);
    return budget?.consumed ?? 'The marketplace does not say what was consumed.';
  } catch (error) {
    return maskText(toAppError(error).message);
  }
}

function toTable({ days }: Shown, files: Record<string, string>): string {
  const columns: Columns<ShownDay> = [
    ['day', ({ day }) => day],
    ['trainer', ({ trainerId }) => trainerId],
    ...countNames.flatMap((name) => [
      [`${name} seen`, ({ seen }: ShownDay) => seen?.[name], 'right'] as const,
      ['sent', ({ sent }: ShownDay) => sent?.[name], 'right'] as const,
    ]),
    ['seen by', ({ observations }) => observations.map((observation) => toSource(observation, files)).join(', ')],
    ['at', ({ observations }) => observations.map(({ seenAt }) => seenAt).reduce(laterOf, '')],
    ['state', ({ state }) => state ?? 'not sent'],
    ['sent at', ({ sentAt }) => sentAt],
    ['request', ({ requestId }) => requestId],
    ['', toRemark],
  ];
  return formatList(days, columns, 'Nothing was seen and nothing was sent.');
}

function toSource({ source, workedOn }: ShownObservation, files: Record<string, string>): string {
  const file = files[source];
  if (file !== undefined) return `${source} ${file}`;
  return workedOn.by === 'scope' ? `${workedOn.tool} ${workedOn.scope}` : source;
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

function toRemark({ why, message, status, lowered }: ShownDay): string {
  const answer = message === null ? '' : `${status === null ? '' : `${status}: `}${message}`;
  const less = lowered === null ? '' : `lowered at ${lowered.at} from ${toSum(lowered.from)}`;
  return [why === null ? '' : describeDifference[why], less, answer].filter((text) => text !== '').join('; ');
}

function toSums({ reported }: Shown, consumed: Consumed): string[] {
  const said = typeof consumed === 'string' ? consumed : toSum(consumed);
  return [`Reported in all: ${toSum(reported)}`, `Consumed by the marketplace: ${said}`];
}

function toSum(counts: Counts): string {
  return countNames.map((name) => `${counts[name] ?? 'no'} ${name}`).join(', ');
}

/** Why tool and ledger differ, and on how many days. */
function explain({ days, held }: Shown): string[] {
  const lines = Object.entries(describeDifference).flatMap(([why, remark]) => {
    const some = days.filter((one) => one.why === why);
    return some.length === 0 ? [] : [`${toDays(some)}: ${remark}.`];
  });
  if (held.length === 0) return lines;
  const ofHeld = held.map(({ observation }) => ({ day: observation.day }));
  return [...lines, `${toDays(ofHeld)}: held, see "gangway usage held".`];
}

const mostNamed = 5;

function toDays(days: readonly { day: string }[]): string {
  const named = [...new Set(days.map(({ day }) => day))];
  const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
  return `${named.slice(0, mostNamed).join(', ')}${more}`;
}

/** Why less may be counted than was done. */
function sayGaps({ gaps, fallen, failing }: ContractGaps): string[] {
  return [
    ...failing.map(
      ({ tool, scope, readAt, failure }) =>
        `The work at ${scope} in ${tool} ${readAt === null ? 'could never be read' : `was read last at ${readAt}`}: ${failure}.`,
    ),
    ...gaps.map(
      ({ tool, scope, since, says }) =>
        `Not all of the work at ${scope} in ${tool} can be counted since ${since}: ${says}.`,
    ),
    ...fallen.map(
      ({ tool, scope, trainerId, since, fallen: less }) =>
        `Of ${trainerId} ${tool} tells less at ${scope} than was counted since ${since}, by ${toParts(less)}: so much of what they do next does not count.`,
    ),
  ];
}

function toParts(counts: Counts): string {
  return countNames
    .filter((name) => counts[name])
    .map((name) => `${counts[name]} ${name}`)
    .join(', ');
}

/** Why the ledger and the marketplace differ. */
function toVerdict(explained: ConsumedExplanation | null): string[] {
  if (explained === null || explained.verdict === 'equal') return [];
  const { verdict, difference, arrived } = explained;
  const by = toParts(difference);
  const why = {
    explained: `just that is in the requests of ${arrived.join(', ')}, whose answers were lost.`,
    more: 'the marketplace counts work in its own tools too.',
    less: 'a request may have arrived late; what is in doubt is sent again.',
  };
  return [`Consumed and reported differ by ${by}: ${why[verdict]}`];
}
