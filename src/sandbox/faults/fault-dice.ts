import { createHash } from 'node:crypto';
import type { Fault, Faults } from './faults-schema.ts';

export type FaultKind = keyof Faults;

/** A delivery, an attempt or a call. */
export interface FaultTarget {
  installId: string;
  /** Unique for the install, such as `delivery 3`. */
  name: string;
  deliveryId?: string;
  operation?: string;
}

export type FaultRecord = Omit<FaultTarget, 'name'> & { fault: FaultKind };

export type FaultDice = ReturnType<typeof createFaultDice>;

/**
 * Decides which faults happen. Each throw depends only on the seed, the install, the name of the target and the
 * purpose, not on other installs or the order of answers.
 */
export function createFaultDice(seed: string) {
  let allInstalls: Faults = {};
  let ofInstalls = new Map<string, Faults>();
  const things = new Map<string, number>();
  const struck = new Map<string, number>();
  const happened: FaultRecord[] = [];

  /** From 0 to below 1. */
  function throwFor({ installId, name }: FaultTarget, purpose: string): number {
    const text = ['fault', seed, installId, purpose, name].join('\n');
    return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48;
  }

  /** Numbers the targets of a kind in an install, from 1. */
  function countNext(installId: string, sort: string): number {
    const count = (things.get(`${installId} ${sort}`) ?? 0) + 1;
    things.set(`${installId} ${sort}`, count);
    return count;
  }

  /** `times` counts from the last `setFaults`. */
  function forgetStruck(installId: string | undefined): void {
    for (const key of struck.keys()) {
      if (installId === undefined || key.startsWith(`${installId} `)) struck.delete(key);
    }
  }

  return {
    /** Faults for all installs replace those of single installs. */
    setFaults(installId: string | undefined, faults: Faults): void {
      forgetStruck(installId);
      if (installId !== undefined) ofInstalls.set(installId, faults);
      else [allInstalls, ofInstalls] = [faults, new Map()];
    },
    faultsInForce: () => ({ allInstalls, installs: Object.fromEntries(ofInstalls) }),
    /** The faults that happened, oldest first. */
    listHappened: () => happened,
    /** A call of an operation, named by its number. */
    nameCall: (installId: string, operation: string): FaultTarget => ({
      installId,
      name: `${operation} ${countNext(installId, operation)}`,
      operation,
    }),
    countNext,
    throwFor,
    /** @returns the fault if it happens to this target; it is then recorded */
    strike<Kind extends FaultKind>(kind: Kind, target: FaultTarget): Faults[Kind] {
      const { name: _, ...thing } = target;
      const fault = (ofInstalls.get(target.installId) ?? allInstalls)[kind];
      const key = `${target.installId} ${kind}`;
      const count = struck.get(key) ?? 0;
      if (fault === undefined || !isMeantFor(fault, target, count)) return undefined;
      if (throwFor(target, kind) >= fault.probability) return undefined;
      struck.set(key, count + 1);
      happened.push({ fault: kind, ...thing });
      return fault;
    },
  };
}

/** How faults name an operation, whatever its fields are called: `GET /contracts/{id}`. */
export function nameOf(address: string): string {
  return address.replaceAll(/\{\w+\}/g, '{id}');
}

function isMeantFor({ times, operations }: Fault, { operation }: FaultTarget, count: number): boolean {
  if (operations !== undefined && !operations.some((one) => nameOf(one) === operation)) return false;
  return count < (times ?? Infinity);
}
