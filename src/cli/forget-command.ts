import { type Forgotten, forgetPerson } from '../privacy/forget-person.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

export interface ForgetOptions {
  person: string;
  install: string | undefined;
  dryRun: boolean;
}

/** `gangway forget`: clears the personal data of a person who has asked for it. */
export async function runForget(
  { person, install, dryRun }: ForgetOptions,
  { terminal, storage }: StorageSession,
): Promise<Printed> {
  const forgotten = await forgetPerson(storage, person, { dryRun, by: decidedBy(), install }, terminal.signal);
  return printForgotten(forgotten, dryRun);
}

export function printForgotten(forgotten: Forgotten, dryRun: boolean): Printed {
  return { data: { ...forgotten, dryRun }, text: () => toText(forgotten, dryRun) };
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
