import { expect, it } from 'vitest';
import type { Evidence } from '../../../src/domain/evidence.ts';
import { readInSteps } from '../../../src/reconcile/read/evidence-of-install.ts';
import type { KnownInstall } from '../../../src/reconcile/read/read-install.ts';
import { toApi } from '../../support/incident.ts';
import { byContract, evidenceOfInstall, readInstall } from '../../support/read-whole.ts';

const { signal } = new AbortController();
const beganAt = '2026-03-15T12:00:00.000Z';
const links = ['l1'];
const on = (...people: string[]) => ({ links, people });

/** Many contracts that are new, one that has ended, one with a missing trainer, one that is in no list. */
const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`c${index}`, on(`u${index}`)]));
const ended = { gone: on('u-gone') };
const listing = { links: { l1: 'signs' }, active: { ...many, doubtful: on('u-new') }, ended };
const whole = toApi(listing);
const unlisted = toApi({ ...listing, active: { ...listing.active, unlisted: on('u-unlisted') } });
const api = { ...whole, listParticipants: unlisted.listParticipants };

const known: KnownInstall = {
  links: new Map([
    ['l1', null],
    ['l2', null],
  ]),
  contracts: byContract(
    ['gone', 'doubtful', 'unlisted'].map((contractId) => ({
      contractId,
      linkIds: links,
      trainerIds: [`u-${contractId}`],
      participantsReadAt: null,
    })),
  ),
};

async function readSteps(reader = api): Promise<{ steps: Evidence[]; asked: string[] }> {
  const asked: string[] = [];
  const steps: Evidence[] = [];
  const watched: typeof api = {
    ...reader,
    async listParticipants(id, at) {
      asked.push(`${id} after ${steps.length}`);
      return await reader.listParticipants(id, at);
    },
  };
  for await (const step of readInSteps(watched, 'acme', known, beganAt, signal)) steps.push(step.evidence);
  return { steps, asked };
}

const takesAway = ({ contracts, links: of, participations }: Evidence) =>
  contracts.some(({ endedReadAt }) => endedReadAt !== null) ||
  of.some(({ absences }) => absences !== null) ||
  participations.some(({ absences }) => absences !== null);

it('yields the evidence of the whole read, in order', async () => {
  const { steps } = await readSteps();
  const read = await readInstall(api, 'acme', known, beganAt, signal);
  expect(steps).toEqual(evidenceOfInstall(read, known));
});

it('yields what it knows while it still asks, and what takes access away after the last request', async () => {
  const { steps, asked } = await readSteps();
  expect(new Set(asked.map((one) => one.split(' ').at(-1)))).toEqual(new Set(['1', '2', '3']));
  expect(steps.map(takesAway)).toEqual([false, false, false, false, true, true, true, false]);
});

it('asks again about a contract with a missing trainer if the read was not finished', async () => {
  const { steps } = await readSteps();
  const isAsked = (step: Evidence) =>
    step.contracts.some((one) => one.contractId === 'doubtful' && one.participantsReadAt !== null);
  expect(steps.findIndex(isAsked)).toBeGreaterThan(3);
});
