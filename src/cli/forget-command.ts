import { Command } from 'commander';
import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { systemClock } from '../lib/clock.ts';
import { type Forgotten, forgetPerson } from '../privacy/forget-person.ts';
import { createPersonStore } from '../privacy/person-store.ts';
import { createRetentionStore } from '../privacy/retention-store.ts';
import { print, withStorage } from './command-context.ts';
import type { Terminal } from './terminal.ts';

interface ForgetOptions {
  install?: string;
  dryRun?: true;
  yes?: true;
  json?: true;
}

/** `gangway forget`: clears everything personal of somebody who has asked for it. */
export function createForgetCommand(terminal: Terminal): Command {
  return new Command('forget')
    .description(
      'clear everything personal of one person, at every install that does not need them any more; only ids stay',
    )
    .argument('<person>', 'a trainer id, or a work address')
    .option('--install <name>', 'only what this install knows of them')
    .option('--dry-run', 'say what would be cleared, and change nothing')
    .option('--yes', 'do it: it cannot be undone')
    .option('--json', 'print one JSON object instead of text')
    .action(async (who: string, { install, dryRun, yes, json }: ForgetOptions, command: Command) => {
      if (!dryRun && !yes) {
        command.error('error: this cannot be undone: look with --dry-run, do it with --yes');
      }
      await withStorage(command, async ({ database, box, inbox }) => {
        const deps = {
          database,
          box,
          inbox,
          clock: systemClock,
          signal: terminal.signal,
          people: createPersonStore(database),
          retention: createRetentionStore(database),
          lockEvidence: createEvidenceStore(database, box).lock,
        };
        const forgotten = await forgetPerson(deps, who, { dryRun: dryRun === true, install });
        const shown = { ...forgotten, dryRun: dryRun === true };
        print(terminal, json, shown, () => toText(forgotten, dryRun === true));
      });
    });
}

function toText(forgotten: Forgotten, dryRun: boolean): string {
  const { trainerId, installs, neededBy, people, titles, deliveries, toolTraces } = forgotten;
  const lines = [
    `${trainerId}: ${dryRun ? 'would be cleared' : 'cleared'} at ${installs.join(', ')}`,
    `  ${people} of name and address, one for each install`,
    `  ${titles} of contract titles`,
    `  ${deliveries} of stored deliveries`,
    `  ${toolTraces} of memberships and receipts with what a tool has said`,
  ];
  if (forgotten.deliveriesLeft > 0) {
    lines.push(`${forgotten.deliveriesLeft} deliveries are not handled yet and stay: run this again then.`);
  }
  for (const { install, why } of neededBy) {
    lines.push(`${install} still needs to know them: ${why}. Run this again when that is over.`);
  }
  return lines.join('\n');
}
