import { Command } from 'commander';
import type { Services } from '../app/services.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { countNames } from '../domain/usage.ts';
import { createLoweringStore } from '../usage/report/lowering-store.ts';
import { decideHeld, type ListedHeld, listHeld } from '../usage/show/decide-held.ts';
import { type Lowering, listLowerings } from '../usage/show/list-lowerings.ts';
import { decidedBy, print } from './command-context.ts';
import { formatChange, formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorksCallingNoTool } from './with-works.ts';

interface HeldOptions {
  assign?: string;
  discard?: true;
  json?: true;
}

const explanations: Record<ListedHeld['reason'], string> = {
  no_contract: 'they are on no contract there',
  before_start: 'before the contract began',
  after_end: 'after the contract had ended',
  several_contracts: 'several contracts ran at once',
  unknown_instants: 'one contract followed another that day, and not all is known by instants',
  two_sources: 'both a tool and an import tell of it',
  over_a_day: 'more than 24 hours',
  negative: 'less than nothing',
};

/** `gangway usage held`: work that is not reported until somebody decides, and what was lowered. */
export function createUsageHeldCommand(terminal: Terminal): Command {
  return new Command('held')
    .description('list work that is not reported, and days that are lowered; decide about them')
    .argument('[id]', 'the work to decide about, as it is listed')
    .option('--assign <contract>', 'report it for this contract')
    .option('--discard', 'never report it')
    .option('--json', 'print one JSON object instead of a table')
    .action((id: string | undefined, options: HeldOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, false, async (works) => {
        const { assign, discard, json } = options;
        const decisions = Number(assign !== undefined) + Number(discard === true);
        if (decisions !== Number(id !== undefined)) {
          command.error('error: to decide, give an id with either --assign or --discard');
        }
        if (id === undefined) await list(terminal, works, json);
        else await decide(terminal, works, id, options);
      }),
    );
}

async function list(terminal: Terminal, works: Services, json: true | undefined): Promise<void> {
  const held = await Array.fromAsync(listHeld(works.usage.deps));
  const lowerings = await listLowerings(works.usage.deps, createLoweringStore(works.database), [
    ...works.installs.keys(),
  ]);
  print(terminal, json, { held, lowerings }, () => [toTable(held), ...toLowered(lowerings)].join('\n\n'));
}

async function decide(terminal: Terminal, works: Services, id: string, { assign, json }: HeldOptions): Promise<void> {
  await decideHeld(works.usage.deps, id, assign ?? null);
  const decision = assign === undefined ? 'discarded' : `assigned to ${assign}`;
  await inTransaction(works.database, (tx) => writeAudit(tx, decidedBy(), 'usage held', `${id} ${decision}`));
  print(terminal, json, { id, contractId: assign ?? null }, () => `${id} is ${decision}.`);
}

function toTable(held: ListedHeld[]): string {
  if (held.length === 0) return 'No work is held.';
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    [
      'id',
      'source',
      'worked on',
      'trainer',
      'day',
      ...['seconds', 'tasks', 'labels'].map(right),
      'because',
      'contracts',
    ],
    held.map(({ id, observation, reason, contracts }) => {
      const { source, workedOn, trainerId, day, counts } = observation;
      const where = Object.values(workedOn).at(-1) ?? '';
      const { seconds, tasks, labels } = counts;
      return [
        id,
        source,
        where,
        trainerId,
        day,
        seconds ?? '',
        tasks ?? '',
        labels ?? '',
        explanations[reason],
        contracts.map(({ contractId }) => contractId).join(' '),
      ];
    }),
  );
}

function toLowered(lowerings: readonly Lowering[]): string[] {
  if (lowerings.length === 0) return [];
  const table = formatTable(
    [
      'install',
      'contract',
      'trainer',
      'day',
      ...countNames.map((title) => ({ title, align: 'right' as const })),
      '',
      'since',
    ],
    lowerings.map(({ install, contractId, trainerId, day, from, to, state, since }) => [
      install,
      contractId,
      trainerId,
      day,
      ...countNames.map((name) => formatChange(from[name], to?.[name] ?? null)),
      state === 'held' ? 'waits for you' : 'reported',
      since,
    ]),
  );
  const waits = lowerings.some(({ state }) => state === 'held');
  const advice = 'What waits is reported by "gangway usage report --accept-lowered", all of it or --contract <id>.';
  return [`Days with less than was reported:\n${table}`, ...(waits ? [advice] : [])];
}
