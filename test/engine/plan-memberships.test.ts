import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MembershipRow } from '../../src/db/tables.ts';
import { type Evidence, mergeRegisters } from '../../src/domain/evidence.ts';
import { evidenceOfEvent } from '../../src/engine/evidence-of-event.ts';
import { planMemberships } from '../../src/engine/plan-memberships.ts';
import { readEvent } from '../../src/inbox/event-schema.ts';
import { expectWanted, type Happening, history, toBatches, toBody } from '../support/histories.ts';

describe('any order and any repetition of events', () => {
  it('ends in the same memberships, and then leaves nothing to plan', () => {
    fc.assert(
      fc.property(history, ({ set, order, batches }) => {
        const engine = createPureEngine();
        for (const batch of toBatches(order, batches)) {
          engine.take(batch.flatMap((index) => set[index] ?? []));
        }
        expect(engine.wanted()).toEqual(expectWanted(set));
        expect(engine.plan()).toEqual([]);
      }),
      { numRuns: 10_000 },
    );
  }, 60_000);
});

/** The engine without a database: evidence merged by the domain's rule, memberships as planned. */
function createPureEngine() {
  const tables = new Map<keyof Evidence, Map<string, object>>();
  const memberships = new Map<string, MembershipRow>();

  function merge(evidence: Evidence): void {
    for (const kind of Object.keys(evidence) as (keyof Evidence)[]) {
      const table = tables.get(kind) ?? new Map<string, object>();
      tables.set(kind, table);
      for (const row of evidence[kind]) {
        const key = keyColumns[kind].map((column) => Reflect.get(row, column)).join('/');
        const known = table.get(key);
        table.set(key, known === undefined ? row : mergeRegisters(known, row));
      }
    }
  }

  function plan() {
    const all = <Kind extends keyof Evidence>(kind: Kind) =>
      [...(tables.get(kind)?.values() ?? [])] as Evidence[Kind];
    const of = (install: string) => (row: { install: string }) => row.install === install;
    const participations = all('participations').flatMap(({ install, contractId, trainerId }) => {
      const contract = all('contracts')
        .filter(of(install))
        .find((one) => one.contractId === contractId);
      const pairs = all('pairs')
        .filter(of(install))
        .filter((one) => one.contractId === contractId);
      return pairs.flatMap(({ linkId }) => {
        const link = all('links')
          .filter(of(install))
          .find((one) => one.linkId === linkId);
        return contract === undefined || link === undefined
          ? []
          : [{ ...contract, ...link, contractId, trainerId }];
      });
    });
    const known = all('people').filter((one) => one.workEmail !== null);
    const addresses = new Set(known.map((one) => `${one.install}/${one.trainerId}`));
    return planMemberships(
      { participations, addresses, memberships: [...memberships.values()] },
      ({ externalProjectId }) =>
        externalProjectId === null ? undefined : { tool: 'studio', groupId: externalProjectId },
    );
  }

  return {
    plan,
    take(batch: Happening[]) {
      for (const one of batch) {
        const read = readEvent(Buffer.from(toBody(one)));
        if (read.outcome !== 'event') throw new Error('not an event');
        merge(evidenceOfEvent(one.install, read.event, '2026-03-15T12:00:00.000Z').evidence);
      }
      for (const { place, before, after } of plan()) {
        const row = { ...newRow, ...before, ...place, ...after, wanted: after.wanted ? 1 : 0 };
        memberships.set(`${place.groupId}/${place.trainerId}`, row);
      }
    },
    wanted: () =>
      [...memberships].flatMap(([key, { wanted }]) => (wanted === 1 ? [key] : [])).sort(),
  };
}

const newRow = {
  ...{ id: 0, memberId: null, isOurs: 0, lookAgain: 0, attempts: 0, nextAttemptAt: null },
  ...{ leaseToken: null, leasedUntil: null, failure: null, updatedAt: '' },
};

const keyColumns: Record<keyof Evidence, string[]> = {
  contracts: ['install', 'contractId'],
  links: ['install', 'linkId'],
  grants: ['install', 'grantId'],
  pairs: ['install', 'contractId', 'linkId'],
  participations: ['install', 'contractId', 'trainerId'],
  people: ['install', 'trainerId'],
};
