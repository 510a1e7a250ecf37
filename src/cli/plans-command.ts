import { Command, InvalidArgumentError } from 'commander';
import { type PlanState, planStates } from '../domain/brake.ts';
import { AppError } from '../domain/errors.ts';
import { describeCause } from '../domain/standing.ts';
import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { maskText } from '../lib/mask.ts';
import { type Approved, approvePlan } from '../operator/approve-plan.ts';
import { decidePlan, type PlanDecision } from '../operator/decide-plan.ts';
import { createPlanStore, type Plan, type PlanItem, type PlanResult } from '../removals/plan-store.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { toRowNumber } from './count-option.ts';
import { waitOption } from './duration-option.ts';
import { endWith } from './ending.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { createProgress, withWorks } from './with-works.ts';

/** `gangway plans`: what the brake holds, and what is to become of it. */
export function createPlansCommand(terminal: Terminal): Command {
  return new Command('plans')
    .description('removals that the brake holds, for an operator to decide about')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createShowCommand(terminal))
    .addCommand(createApproveCommand(terminal))
    .addCommand(createRejectCommand(terminal));
}

interface ListOptions {
  install?: string;
  state?: PlanState;
  all?: true;
  json?: true;
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list the plans that nobody has decided about yet')
    .option('--install <name>', 'only those of one install')
    .option('--state <state>', `those in another state: ${planStates.join(', ')}`, toState)
    .option('--all', 'those that were decided too')
    .option('--json', 'print one JSON object instead of a table')
    .action(({ install, state, all, json }: ListOptions, command: Command) =>
      withStorage(command, async (storage, config) => {
        const wanted = all ? undefined : (state ?? 'open');
        const plans = await createPlanStore(storage.database).list({ install, state: wanted });
        if (plans.length === 0) await refuseUnknownInstall(command, storage, config, install);
        print(terminal, json, { plans }, () => toTable(plans));
      }),
    );
}

function toState(value: string): PlanState {
  const state = planStates.find((known) => known === value);
  if (state === undefined) throw new InvalidArgumentError(`one of: ${planStates.join(', ')}`);
  return state;
}

function toTable(plans: Plan[]): string {
  if (plans.length === 0) return 'There are no such plans.';
  return formatTable(
    ['plan', 'install', 'state', { title: 'people', align: 'right' }, 'made', 'decided'],
    plans.map((plan) => [plan.id, plan.install, plan.state, plan.size, plan.createdAt, plan.decidedAt ?? '']),
  );
}

function createShowCommand(terminal: Terminal): Command {
  return new Command('show')
    .description('show who a plan would remove, and why')
    .argument('<plan>', 'its number in the list', toRowNumber)
    .option('--json', 'print one JSON object instead of a table')
    .action((id: number, { json }: { json?: true }, command: Command) =>
      withStorage(command, async ({ database }) => {
        const store = createPlanStore(database);
        const plan = await store.find(id);
        if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
        const items = (await store.show(id)).map(toShown);
        print(terminal, json, { ...plan, items }, () => `${toTable([plan])}\n\n${toItems(items)}`);
      }),
    );
}

/** With the reason in words. Strangers choose names. */
function toShown(item: PlanItem) {
  const { displayName, cause } = item;
  const name = displayName === null ? null : maskText(displayName);
  return { ...item, because: describeCause(cause), displayName: name };
}

function toItems(items: ReturnType<typeof toShown>[]): string {
  return formatTable(
    ['membership', 'tool', 'group', 'trainer', 'name', 'contracts', 'because', 'now'],
    items.map((item) => [
      item.membershipId,
      item.tool,
      item.groupId,
      item.trainerId,
      item.displayName ?? '',
      item.contractIds.join(', '),
      item.because,
      item.isStale ? 'stale' : (item.outcome ?? 'held'),
    ]),
  );
}

const decisions: Record<PlanDecision, { description: string; done(decided: number): string }> = {
  approve: {
    description: 'remove those of a plan for whom nothing has changed since it was made',
    done: (decided: number) => `${decided} will be removed.`,
  },
  reject: {
    description: 'keep the people of a plan until there is new evidence about them',
    done: (decided: number) => `${decided} are kept until there is new evidence.`,
  },
};

interface ApproveOptions {
  wait: number;
  /** As commander names `--without-reading`. */
  withoutReading?: true;
  json?: true;
}

function createApproveCommand(terminal: Terminal): Command {
  return new Command('approve')
    .description(decisions.approve.description)
    .argument('<plan>', 'its number in the list', toRowNumber)
    .option('--without-reading', 'go by what is known, without asking the marketplace first: where it cannot be asked')
    .addOption(waitOption('for how long at most to wait until they are'))
    .option('--json', 'print one JSON object instead of text')
    .action((id: number, options: ApproveOptions, command: Command) =>
      withWorks(terminal, command, false, async (works) => {
        const plans = createPlanStore(works.database);
        const { wait: waitMs, json } = options;
        const patience = { waitMs, signal: terminal.signal, onProgress: createProgress(terminal) };
        const deps = { ...works, plans, by: decidedBy() };
        const done = await approvePlan(deps, id, [...works.installs.keys()], {
          patience,
          isUnread: options.withoutReading === true,
        });
        print(terminal, json, { plan: id, ...done }, () =>
          [toDecided('approve', done), ...toDropped(done), toDone(done)].join('\n'),
        );
        if (waitMs > 0) endWith(done.left > 0 ? 1 : 0);
      }),
    );
}

function createRejectCommand(terminal: Terminal): Command {
  return new Command('reject')
    .description(decisions.reject.description)
    .argument('<plan>', 'its number in the list', toRowNumber)
    .option('--json', 'print one JSON object instead of text')
    .action((id: number, { json }: { json?: true }, command: Command) =>
      withStorage(command, async ({ database, box }) => {
        const plans = createPlanStore(database);
        const evidence = createEvidenceStore(database, box);
        const decided = await decidePlan({ database, plans, evidence, by: decidedBy() }, 'reject', id);
        print(terminal, json, { plan: id, ...decided }, () => toDecided('reject', decided));
      }),
    );
}

function toDecided(decision: PlanDecision, { decided, stale }: PlanResult): string {
  const rest = stale === 0 ? '' : ` ${stale} are stale and stay.`;
  return `${decisions[decision].done(decided)}${rest}`;
}

/** Who is not removed, and why. */
function toDropped({ dropped }: Approved): string[] {
  if (dropped.length === 0) return [];
  return [
    formatTable(
      ['membership', 'tool', 'group', 'trainer', 'name', 'stays because'],
      dropped.map(({ membershipId, tool, groupId, trainerId, displayName, why }) => [
        membershipId,
        tool,
        groupId,
        trainerId,
        displayName ?? '',
        why,
      ]),
    ),
  ];
}

function toDone({ removed, left }: { removed: number; left: number }): string {
  const rest = left === 0 ? '' : ` ${left} are not yet, and are tried again by a running bridge.`;
  return `${removed} are removed.${rest}`;
}
