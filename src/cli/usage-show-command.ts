import { Command } from 'commander';
import type { Works } from '../create-works.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type Counts, countNames } from '../domain/usage.ts';
import { maskText } from '../lib/mask.ts';
import { createContractStore } from '../operator/contract-store.ts';
import { type ShownContract, showUsage } from '../usage/show/show-usage.ts';
import { print } from './command-context.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorks } from './with-works.ts';

interface ShowOptions {
  install?: string;
  json?: true;
}

/** `gangway usage show`: one contract, as the tool, the ledger and the marketplace have it. */
export function createUsageShowCommand(terminal: Terminal): Command {
  return new Command('show')
    .description('show what was seen, sent and consumed of a contract, and why they differ')
    .argument('<contract>', 'its id')
    .option('--install <name>', 'of which install, where several have one of this id')
    .option('--json', 'print one JSON object instead of a table')
    .action((id: string, { install, json }: ShowOptions, command: Command) =>
      withWorks(terminal, command, true, async (works) => {
        const [contract, other] = await createContractStore(works.database).find(
          works.database.kysely,
          id,
          install,
        );
        if (contract === undefined) throw new AppError('not_found', `There is no contract ${id}`);
        if (other !== undefined) {
          throw new AppError('conflict', `Several installs have a contract ${id}: name one`);
        }
        const shown = await showUsage(works.usage.deps, contract.install, id);
        const consumed = await readConsumed(works, contract.install, id, terminal.signal);
        const differences = explain(shown, consumed);
        print(terminal, json, { ...shown, consumed, differences }, () =>
          [toTable(shown), '', ...toSums(shown, consumed), ...differences].join('\n'),
        );
      }),
    );
}

type Consumed = { seconds: number | null; tasks: number | null; labels: number | null } | string;

/** @returns a text where the marketplace did not say */
async function readConsumed(
  { platformApis }: Works,
  install: string,
  contractId: string,
  signal: AbortSignal,
): Promise<Consumed> {
  try {
    const budget = await platformApis.get(install)?.readBudget(contractId, signal);
    return budget?.consumed ?? 'The marketplace does not say what was consumed.';
  } catch (error) {
    return maskText(toAppError(error).message);
  }
}

function toTable({ days }: ShownContract): string {
  if (days.length === 0) return 'Nothing was seen and nothing was sent.';
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    [
      ...['day', 'trainer'],
      ...countNames.flatMap((name) => [right(`${name} seen`), right('sent')]),
      ...['state', 'sent at', ''],
    ],
    days.map(({ day, trainerId, seen, sent, state, sentAt, message }) => [
      ...[day, trainerId],
      ...countNames.flatMap((name) => [seen?.[name] ?? '', sent?.[name] ?? '']),
      ...[state ?? 'not sent', sentAt ?? '', message ?? ''],
    ]),
  );
}

function toSums({ reported }: ShownContract, consumed: Consumed): string[] {
  const toText = (counts: Counts) =>
    countNames.map((name) => `${counts[name] ?? 'no'} ${name}`).join(', ');
  const said = typeof consumed === 'string' ? consumed : toText(consumed);
  return [`Reported in all: ${toText(reported)}`, `Consumed by the marketplace: ${said}`];
}

function explain({ days, held, reported }: ShownContract, consumed: Consumed): string[] {
  const count = (state: string) => days.filter((one) => one.state === state).length;
  const reasons = [
    [held.length, 'held, see "gangway usage held"'],
    [days.filter((one) => one.state === null).length, 'seen and not sent yet'],
    [count('in_doubt'), 'in doubt: sent, and not answered'],
    [count('refused'), 'refused by the marketplace'],
  ] as const;
  const lines = reasons
    .filter(([number]) => number > 0)
    .map(([number, reason]) => `${number} days are ${reason}.`);
  if (typeof consumed === 'string') return lines;
  const isMore = countNames.some((name) => (consumed[name] ?? 0) > (reported[name] ?? 0));
  const isLess = countNames.some((name) => (consumed[name] ?? 0) < (reported[name] ?? 0));
  if (isMore)
    lines.push(
      'More was consumed than reported: the marketplace counts work in its own tools too.',
    );
  if (isLess)
    lines.push(
      'Less is consumed than was reported: a request may have arrived late; days in the look-back are sent again.',
    );
  return lines;
}
