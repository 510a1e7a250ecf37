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
    `  names and addresses, one for each install: ${people}`,
    `  contract titles: ${titles}`,
    `  stored deliveries: ${deliveries}`,
    `  memberships, receipts, invitations and work with what a tool said: ${toolTraces}`,
  ];
  if (forgotten.deliveriesLeft > 0) {
    lines.push(
      `${forgotten.deliveriesLeft} deliveries are not handled yet and were kept: run this again once they are.`,
    );
  }
  for (const { install, why } of neededBy) {
    lines.push(`${install} still needs to know them: ${why}. Run this again when that is over.`);
  }
  return lines.join('\n');
}
