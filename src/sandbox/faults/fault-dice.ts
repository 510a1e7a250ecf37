import { createHash } from 'node:crypto';
import type { Fault, Faults } from './faults-schema.ts';

export type FaultKind = keyof Faults;

/** What a fault may happen to. */
export interface FaultTarget {
  installId: string;
  /** Which of the install's things it is, e.g. `delivery 3`: the same one has the same fate. */
  name: string;
  deliveryId?: string;
  operation?: string;
}

export type FaultRecord = Omit<FaultTarget, 'name'> & { fault: FaultKind };

/**
 * Says which faults happen. Every throw follows from the seed, the install and the thing alone: not
 * from how many throws there were before, so that neither another install nor the order in which
 * answers come in changes anybody's fate.
 */
export interface FaultDice {
  /** For all installs, it takes the place of what single ones had. */
  setFaults(installId: string | undefined, faults: Faults): void;
  faultsInForce(): { everybody: Faults; installs: Record<string, Faults> };
  /** Every fault that happened, oldest first. */
  listHappened(): FaultRecord[];
  /** Which thing of its sort that the install has comes now, from 1. */
  countNext(installId: string, sort: string): number;
  /** From 0 to below 1. */
  throwFor(target: FaultTarget, purpose: string): number;
  /** The fault, if it happens to this; noted if so. */
  strike<Kind extends FaultKind>(kind: Kind, target: FaultTarget): Faults[Kind];
}

export function createFaultDice(seed: string): FaultDice {
  let everybody: Faults = {};
  let ofInstalls = new Map<string, Faults>();
  const things = new Map<string, number>();
  const struck = new Map<string, number>();
  const happened: FaultRecord[] = [];

  function throwFor({ installId, name }: FaultTarget, purpose: string): number {
    const text = ['fault', seed, installId, purpose, name].join('\n');
    return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48;
  }

  /** `times` begins anew for whom it is set anew. */
  function forgetStruck(installId: string | undefined): void {
    for (const key of struck.keys()) {
      if (installId === undefined || key.startsWith(`${installId} `)) struck.delete(key);
    }
  }

  return {
    setFaults(installId, faults) {
      forgetStruck(installId);
      if (installId !== undefined) ofInstalls.set(installId, faults);
      else [everybody, ofInstalls] = [faults, new Map()];
    },
    faultsInForce: () => ({ everybody, installs: Object.fromEntries(ofInstalls) }),
    listHappened: () => happened,
    countNext(installId, sort) {
      const count = (things.get(`${installId} ${sort}`) ?? 0) + 1;
      things.set(`${installId} ${sort}`, count);
      return count;
    },
    throwFor,
    strike(kind, target) {
      const { name: _, ...thing } = target;
      const fault = (ofInstalls.get(target.installId) ?? everybody)[kind];
      const key = `${target.installId} ${kind}`;
      const count = struck.get(key) ?? 0;
      if (fault === undefined || !isMeant(fault, target, count)) return undefined;
      if (throwFor(target, kind) >= fault.probability) return undefined;
      struck.set(key, count + 1);
      happened.push({ fault: kind, ...thing });
      return fault;
    },
  };
}

function isMeant({ times, operations }: Fault, { operation }: FaultTarget, count: number): boolean {
  if (operations !== undefined && !operations.some((one) => one === operation)) return false;
  return count < (times ?? Infinity);
}
