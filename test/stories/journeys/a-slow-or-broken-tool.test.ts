import { expect, it } from 'vitest';
import type { Adapter, Member, Person } from '../../../src/adapters/adapter.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { type Journey, openJourney } from '../../support/journey.ts';
import { type ContractEvent, minutesAgo, toBody } from '../../support/lifecycle-events.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const hourMs = 3_600_000;
const toolTimeout = '150ms';
const silence = () => new Promise<never>(() => undefined);

const hired: ContractEvent = {
  type: 'contract.started',
  number: 1,
  contract: 'ctr1',
  trainer: 'usr1',
  project: 'street-signs',
  createdAt: minutesAgo(1),
};
const ended: ContractEvent = { ...hired, type: 'contract.ended', number: 2 };

/** As the schedule would have it. */
async function read({ storage, clock }: Journey): Promise<void> {
  const now = clock.now().toISOString();
  await inTransaction(storage.database, (tx) => wantRead(tx, ['acme'], now));
}

describeAnyDialect('a slow or broken tool', (dialect) => {
  it('keeps no delivery waiting while it hangs', async () => {
    const tool = createTool();
    tool.add = silence;
    // The default time-out: an answer that waited for the tool would take 15 seconds.
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    // More than are worked on at once.
    for (let number = 1; number <= 20; number += 1) {
      const sentAt = performance.now();
      const event = { ...hired, number, contract: `ctr${number}`, trainer: `usr${number}` };
      expect(await journey.deliver(toBody(event))).toMatchObject({ status: 200 });
      expect(performance.now() - sentAt).toBeLessThan(12_000);
    }
    await until(
      'it hangs in the tool',
      () => tool.calls.length,
      // A busy machine may take longer for the deliveries than one call lasts.
      (calls) => calls > 0,
    );
    const states = (await journey.memberships()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['pending']));
  });

  it('gives up a call that hangs, and tries again later', async () => {
    const tool = createTool();
    tool.add = silence;
    const journey = await openJourney(dialect, { adapter: tool.adapter, toolTimeout });
    await journey.deliver(toBody(hired));
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([
      { state: 'pending', attempts: 1, failure: 'The tool did not answer within 150 ms' },
    ]);
    await journey.pass(hourMs);
    expect(await journey.memberships()).toMatchObject([{ state: 'pending', attempts: 2 }]);

    tool.add = tool.addReally;
    await journey.pass(hourMs);
    expect(tool.members()).toEqual(['street-signs/usr1']);
    expect(await journey.memberships()).toMatchObject([
      { state: 'active', attempts: 0, failure: null, nextAttemptAt: null },
    ]);
    expect(await journey.receipts()).toEqual(['add failed', 'add failed', 'add added']);
  });

  it('makes a refused membership failed, and retries it within the hour', async () => {
    const tool = createTool();
    tool.add = () => Promise.reject(new AppError('invalid', 'The seat is taken', { status: 422 }));
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    await journey.deliver(toBody(hired));
    await journey.quiet();
    const [parked] = await journey.memberships();
    expect(parked).toMatchObject({ state: 'failed', failure: 'The seat is taken' });
    const tries = Date.parse(parked?.nextAttemptAt ?? '') - journey.clock.now().getTime();
    expect(tries).toBeLessThanOrEqual(hourMs + 10_000);
    const receipts = journey.storage.database.kysely.selectFrom('receipt').selectAll();
    expect(await receipts.execute()).toMatchObject([{ outcome: 'refused', toolStatus: 422 }]);

    tool.add = tool.addReally;
    await journey.pass(hourMs + 10_000);
    expect(tool.members()).toEqual(['street-signs/usr1']);
    expect(await journey.memberships()).toMatchObject([{ state: 'active' }]);
  });

  it('survives an error that no code expects', async () => {
    const tool = createTool();
    tool.find = () => {
      throw new TypeError('tool.members is not a function');
    };
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    expect(await journey.deliver(toBody(hired))).toMatchObject({ status: 200 });
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([{ state: 'failed', attempts: 1 }]);
    tool.find = tool.findReally;
    await journey.pass(hourMs + 10_000);
    expect(tool.members()).toEqual(['street-signs/usr1']);
  });

  it('does not believe a success that cannot be read back', async () => {
    const tool = createTool();
    tool.add = async (_group, { trainerId }) => ({ id: trainerId, email: null });
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    await journey.deliver(toBody(hired));
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([
      {
        state: 'pending',
        attempts: 1,
        failure: 'The tool says it added the member but does not list them',
      },
    ]);
    tool.add = tool.addReally;
    await journey.pass(hourMs);
    expect(tool.members()).toEqual(['street-signs/usr1']);

    tool.remove = async () => undefined;
    await journey.deliver(toBody(ended));
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([
      {
        state: 'removing',
        failure: 'The tool says it removed the member but still lists them',
      },
    ]);
    tool.remove = tool.removeReally;
    await journey.pass(hourMs);
    expect(tool.members()).toEqual([]);
    expect(await journey.receipts()).toEqual(['add failed', 'add added', 'remove failed', 'remove removed']);
  });

  it('can remove a member whom Gangway added without an answer', async () => {
    const tool = createTool();
    tool.add = async (group, person) => {
      await tool.addReally(group, person);
      return await silence();
    };
    const journey = await openJourney(dialect, { adapter: tool.adapter, toolTimeout });
    await journey.deliver(toBody(hired));
    await journey.quiet();
    await journey.pass(hourMs);
    expect(tool.members()).toEqual(['street-signs/usr1']);
    expect(tool.calls).toEqual(['add street-signs/usr1']);
    expect(await journey.memberships()).toMatchObject([{ state: 'active', isOurs: true }]);

    await journey.deliver(toBody(ended));
    await journey.quiet();
    expect(tool.members()).toEqual([]);
    expect(await journey.receipts()).toEqual(['add failed', 'add already_member', 'remove removed']);
  });

  it('keeps a member whose removal had no answer and whom others have added since', async () => {
    const tool = createTool();
    const journey = await openJourney(dialect, { adapter: tool.adapter, toolTimeout });
    await journey.deliver(toBody(hired));
    await journey.quiet();
    tool.remove = async (group, member) => {
      await tool.removeReally(group, member);
      return await silence();
    };
    await journey.deliver(toBody(ended));
    await journey.quiet();
    await journey.pass(hourMs);
    await journey.pass(60_000);
    // Seen gone twice; from the next reading on they are not ours.
    await read(journey);
    const rows = () => journey.memberships();
    await until('they are not ours', rows, ([row]) => row?.isOurs === false);
    await journey.quiet();
    expect(await journey.memberships()).toMatchObject([{ state: 'removed' }]);
    tool.remove = tool.removeReally;

    await tool.addReally('street-signs', personOf('usr1'));
    const again = { ...hired, contract: 'ctr2' };
    await journey.deliver(toBody({ ...again, number: 3 }));
    await journey.quiet();
    await journey.deliver(toBody({ ...again, type: 'contract.ended', number: 4 }));
    await journey.quiet();
    expect(tool.members()).toEqual(['street-signs/usr1']);
    expect(await journey.memberships()).toMatchObject([{ state: 'released' }]);
  });

  it('keeps addresses and tokens in its answers out of log and receipts', async () => {
    const tool = createTool();
    const secrets = ['usr1@opentrain.work', 'ot_ptk_0123456789', 'abcdef0123456789'];
    const [address, token, bearer] = secrets;
    const message = `${address} is unknown to ${token}; sent Bearer ${bearer}`;
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    const failures = [new AppError('invalid', message), new Error(message)];
    for (const [index, failure] of failures.entries()) {
      tool.add = () => Promise.reject(failure);
      const about = { contract: `ctr${index}`, trainer: `usr${index}`, number: index };
      await journey.deliver(toBody({ ...hired, ...about }));
      await journey.quiet();
    }
    const kept = JSON.stringify(await dump(journey));
    expect(kept).toContain('u…@opentrain.work is unknown to ot_ptk_…');
    for (const secret of secrets) {
      expect(journey.log.text()).not.toContain(secret);
      expect(kept).not.toContain(secret);
    }
    expect(journey.log.text()).toContain('is unknown to');
  });
});

async function dump({ storage, memberships }: Journey): Promise<unknown[]> {
  const { kysely } = storage.database;
  return [await memberships(), await kysely.selectFrom('receipt').selectAll().execute()];
}

interface Tool {
  adapter: Adapter;
  /** As `group/trainer`, sorted. */
  members(): string[];
  /** Every call that changes something, as it came in. */
  calls: string[];
  find: Adapter['findMember'];
  add: Adapter['addMember'];
  remove: Adapter['removeMember'];
  findReally(group: string, person: Person): Promise<Member | null>;
  addReally(group: string, person: Person): Promise<Member>;
  removeReally(group: string, member: Member): Promise<void>;
}

/** A tool in memory whose calls a test may replace. */
function createTool(): Tool {
  const present = new Set<string>();
  const tool: Tool = {
    calls: [],
    members: () => [...present].sort(),
    async findReally(group, { trainerId, email }) {
      return present.has(`${group}/${trainerId}`) ? { id: trainerId, email } : null;
    },
    async addReally(group, { trainerId, email }) {
      present.add(`${group}/${trainerId}`);
      return { id: trainerId, email };
    },
    async removeReally(group, { id }) {
      present.delete(`${group}/${id}`);
    },
    find: (group, person) => tool.findReally(group, person),
    add: (group, person) => tool.addReally(group, person),
    remove: (group, member) => tool.removeReally(group, member),
    adapter: {
      capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
      check: async () => [],
      groupFor: ({ externalProjectId }) => externalProjectId,
      findMember: (group, person, signal) => tool.find(group, person, signal),
      addMember(group, person, signal) {
        tool.calls.push(`add ${group}/${person.trainerId}`);
        return tool.add(group, person, signal);
      },
      removeMember(group, member, signal) {
        tool.calls.push(`remove ${group}/${member.id}`);
        return tool.remove(group, member, signal);
      },
    },
  };
  return tool;
}

function personOf(trainerId: string): Person {
  return { trainerId, email: `${trainerId}@opentrain.work`, displayName: null, memberId: null };
}
