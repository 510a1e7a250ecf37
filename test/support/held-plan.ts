import { type Dialect, sqlite } from './databases.ts';
import { type Journey, openJourney } from './journey.ts';

const minuteMs = 60_000;
const group = 'street-signs';

/** A journey in which the brake holds a plan of four trainers whose link was removed. */
export interface HeldPlan extends Journey {
  hired: ReturnType<Journey['sandbox']['hire']>[];
  /** Ids of the memberships of the plan, the smallest first. */
  ids: string[];
  /** How many people the roster has. */
  size(): number;
}

export async function openHeldPlan(dialect: Dialect = sqlite): Promise<HeldPlan> {
  const journey = await openJourney(dialect);
  const { customer, sandbox, quiet, pass, roster } = journey;
  const linkId = await customer.link(group);
  const hired = [1, 2, 3, 4].map(() => sandbox.hire({ jobId: customer.jobId }));
  await quiet();
  await pass(2 * 60 * minuteMs);
  await customer.api('DELETE', `/project-links/${linkId}`);
  await quiet();
  await pass(20 * minuteMs);
  const ids = (await journey.memberships())
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .map(String);
  return { ...journey, hired, ids, size: () => roster()[group]?.length ?? 0 };
}
