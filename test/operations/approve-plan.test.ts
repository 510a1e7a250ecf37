import { beforeEach, expect, it } from 'vitest';
import { toInstant } from '../../src/lib/clock.ts';
import type { Source, SourceReader } from '../../src/marketplace/source.ts';
import { approvePlan } from '../../src/operations/decide-plan.ts';
import { listPlans } from '../../src/removals/plan-store.ts';
import { createRemovalWorker } from '../../src/removals/removal-worker.ts';
import { createStudioWorker } from '../support/converging.ts';
import { inStudio } from '../support/engine-harness.ts';
import { createIncident, hours, type Incident, type Listing, minutes, toApi } from '../support/incident.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const customers = ['acme', 'globex'];
const allTrainers = ['cmu1', 'cmu2', 'cmu3', 'cmu4'];
/** Another job of the same customer, so that there is always something to be listed. */
const other = { links: ['cml9'], people: ['cmu9'] };

type Listed = NonNullable<Listing['active']>;

function contractsOn(link: string, trainers: string[] = allTrainers): Listed {
  const contracts = trainers.map((trainer) => [trainer.replace('cmu', 'cmc'), { links: [link], people: [trainer] }]);
  return { ...Object.fromEntries(contracts), cmc9: other };
}

const links = { cml1: 'street-signs', cml9: 'lamps' };
const before: Listing = { links, active: contractsOn('cml1') };
/** The link was removed and made again, without an event. */
const linkedAgain: Listing = {
  links: { cml2: 'street-signs', cml9: 'lamps' },
  active: contractsOn('cml2'),
};
const unlinked: Listing = { links: { cml9: 'lamps' }, active: { cmc9: other } };
const refused: Listing = { links: {}, isRefused: true };

describeAnyDatabase('an approved plan', (openFresh) => {
  let incident: Incident;
  let asked: number;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.read(before);
    asked = 0;
  });

  const members = () => incident.tool.members('street-signs');
  const audit = () => incident.engine.rows('audit');

  async function holdAsUnlinked(): Promise<void> {
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(20 * minutes);
    expect(await incident.plans()).toEqual([4]);
  }

  /** After which its people go within a day. */
  async function disconnect(): Promise<void> {
    await revoke('cmi1');
    await incident.pass(25 * hours);
    expect(await incident.plans()).toEqual([5]);
  }

  async function revoke(grant: string, install?: string): Promise<void> {
    await incident.pass(minutes);
    const createdAt = toInstant(incident.engine.clock.now());
    const event = { type: 'install.revoked', id: `of ${grant}`, createdAt, resourceId: grant };
    await incident.engine.apply([JSON.stringify(event)], install);
  }

  function approve(
    api: Listing | SourceReader,
    { waitMs = 5000, ...approval }: { isUnread?: boolean; waitMs?: number; readWithinMs?: number } = {},
  ) {
    const { engine, tool } = incident;
    const reader = 'readGrant' in api ? api : toApi(api);
    const counted: SourceReader = {
      ...reader,
      readGrant(signal) {
        asked += 1;
        return reader.readGrant(signal);
      },
    };
    const ctx = {
      ...engine,
      installs: new Map(customers.map((name) => [name, inStudio()])),
      sources: new Map(customers.map((name) => [name, { clockDriftMs: () => undefined, ...counted } as Source])),
    };
    const loops = [createRemovalWorker(engine, engine.braking), createStudioWorker(engine, tool)];
    const { signal } = new AbortController();
    const patience = { loops, waitMs, signal, onProgress: () => undefined };
    return approvePlan(ctx, { actor: 'ada', at: '' }, 1, { patience, ...approval });
  }

  it('removes no trainer who was linked again without a delivery, and names them', async () => {
    await holdAsUnlinked();
    const approved = await approve(linkedAgain);
    expect(approved).toMatchObject({ decided: 0, stale: 4, removed: 0, left: 0, isRead: true });
    expect(approved.dropped).toMatchObject(
      allTrainers.map((trainerId) => ({
        tool: 'studio',
        groupId: 'street-signs',
        trainerId,
        displayName: trainerId,
        reason: 'they are wanted again',
      })),
    );
    expect(members()).toEqual(allTrainers);
    expect(incident.removals()).toEqual([]);
    expect(asked).toBe(1);
    expect(await audit()).toMatchObject([{ action: 'plans approve', subject: 'plan 1' }]);
  });

  it('removes the trainers whose evidence the reading does not change', async () => {
    await holdAsUnlinked();
    const [first = '', ...others] = allTrainers;
    const half: Listing = { ...linkedAgain, active: contractsOn('cml2', [first]) };
    const ended = Object.fromEntries(
      others.map((trainer) => [trainer.replace('cmu', 'cmc'), { links: ['cml2'], people: [trainer] }]),
    );
    const approved = await approve({ ...half, ended });
    // The contracts of the others have ended by now. That end is judged by itself.
    expect(approved).toMatchObject({ decided: 0, stale: 4 });
    expect(new Set(approved.dropped.map(({ reason }) => reason))).toEqual(
      new Set([
        'they are wanted again',
        'they are now to be removed for another reason, which is decided separately: the contract is listed as ended',
      ]),
    );
    expect(members()).toContain(first);
  });

  it('removes all trainers if nothing has changed', async () => {
    await holdAsUnlinked();
    expect(await approve(unlinked)).toMatchObject({ decided: 4, removed: 4, dropped: [] });
    expect(members()).toEqual([]);
  });

  it.each([
    ['cannot be read', { links: {}, isRefused: true }],
    [
      'does not answer in time',
      {
        ...toApi(unlinked),
        readGrant: (signal: AbortSignal) =>
          new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          }),
      },
    ],
  ])('is refused if the marketplace %s, unless it is approved without a reading', async (_, api) => {
    await holdAsUnlinked();
    await expect(approve(api, { waitMs: 500, readWithinMs: 600 })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/acme could not be read.+approve 1 --without-reading$/),
    });
    expect(await listPlans(incident.engine, {})).toMatchObject([{ state: 'open' }]);
    expect(members()).toEqual(allTrainers);

    asked = 0;
    expect(await approve(api, { isUnread: true })).toMatchObject({ removed: 4, isRead: false });
    expect(asked).toBe(0);
    expect(members()).toEqual([]);
    expect(await audit()).toMatchObject([{ action: 'plans approve --without-reading' }]);
  });

  it('of a disconnected customer needs only the refusal of the marketplace', async () => {
    await disconnect();
    // The marketplace does not answer, which proves nothing.
    const away = { ...toApi(refused), readGrant: () => Promise.reject(new Error('away')) };
    await expect(approve(away)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await approve(refused)).toMatchObject({ decided: 5, removed: 5, isRead: true });
    expect(members()).toEqual([]);
  });

  it('of two customers with one group is approved when both have disconnected', async () => {
    await incident.read({ ...before, grant: 'cmi2' }, 'globex');
    await revoke('cmi1');
    await revoke('cmi2', 'globex');
    await incident.pass(25 * hours);
    expect(await approve(refused)).toMatchObject({ removed: 5 });
    expect(members()).toEqual([]);
  });

  it('is not approved if the other customer of the group cannot be read for another reason', async () => {
    await incident.read({ ...before, grant: 'cmi2' }, 'globex');
    await revoke('cmi1');
    for (const link of ['cml1', 'cml9']) {
      await incident.event('project_link.removed', { link }, 'globex');
    }
    await incident.pass(25 * hours);
    await expect(approve(refused)).rejects.toThrow(/globex could not be read/);
  });

  it('of a customer who has reconnected removes nobody', async () => {
    await disconnect();
    expect(await approve({ ...before, grant: 'cmi2' })).toMatchObject({ decided: 0, stale: 5 });
    expect(members()).toEqual(allTrainers);
  });
});
