import { sqlite } from './databases.ts';
import { createLoginTool } from './inviting-tool.ts';
import { type Journey, openJourney } from './journey.ts';

/** A journey in which a tool made a login for a trainer, whose password waits to be handed over. */
export interface WaitingInvitation extends Journey {
  trainer: ReturnType<Journey['sandbox']['hire']>['trainers'][number];
  /** Of the trainer. */
  id: string;
  password: string;
}

export async function openWaitingInvitation(): Promise<WaitingInvitation> {
  const tool = createLoginTool();
  const journey = await openJourney(sqlite, { adapter: tool.adapter });
  await journey.customer.link('street-signs');
  const [trainer] = journey.sandbox.hire({ jobId: journey.customer.jobId }).trainers;
  await journey.quiet();
  if (trainer === undefined) throw new Error('no trainer was hired');
  const id = trainer.opentrainUserId;
  return { ...journey, trainer, id, password: tool.passwords.get(id) ?? '' };
}
