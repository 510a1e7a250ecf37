import type { Row } from '../../src/db/schema.ts';
import {
  type ContractEvidence,
  type Evidence,
  isMissed,
  type LinkEvidence,
  mergeRegisters,
} from '../../src/domain/evidence.ts';
import { leftSince, movedSince, statusOfContract, statusOfLink } from '../../src/domain/evidence-status.ts';
import type { RouteLink } from '../../src/domain/install.ts';
import { type MembershipChange, planMemberships } from '../../src/memberships/plan-memberships.ts';
import type { KnownInstall } from '../../src/reconcile/read/read-install.ts';
import { byContract } from './read-whole.ts';

/**
 * The engine without a database: evidence merged by the domain's rule, memberships as planned, and
 * a tool that does at once what is due in it.
 */
export interface PureEngine {
  merge(evidence: Evidence): void;
  /** What has to change about the memberships; nothing once it is taken over. */
  plan(): MembershipChange[];
  /** Applies the plan. */
  derive(): void;
  /** Does what is due in the tool, without a limit of the brake. */
  converge(now: string): void;
  known(install: string): KnownInstall;
  /** `group/trainer` of everyone who is wanted. */
  wanted(): string[];
  /** `group/trainer` of everyone who is in the tool. */
  roster(): string[];
  memberships(): readonly Row<'membership'>[];
  /** The same evidence is the same text. */
  evidence(): string;
  /** The same text is the same future: all that is known, decided and in the tool. */
  print(): string;
  /** Another engine that knows the same and goes its own way from here. */
  fork(): PureEngine;
}

/** Rows are replaced and never changed, as engines share them. */
interface PureState {
  registers: Registers;
  memberships: Map<number, Row<'membership'>>;
  current: Map<number, string>;
  addressInstalls: Map<number, ReadonlySet<string>>;
  reasons: Map<string, Omit<Row<'reason'>, 'recordedAt'>>;
  /** The memberships by which a trainer is in. */
  tool: Set<number>;
}

const routeLink: RouteLink = ({ externalProjectId }) =>
  externalProjectId === null ? undefined : { tool: 'studio', groupId: externalProjectId };

const gracePeriods = { graceMs: 15 * 60_000, revokedGraceMs: 24 * 3_600_000 };

type Registers = { [Kind in keyof Evidence]: Map<string, Evidence[Kind][number]> };

export function createPureEngine(state: PureState = createState()): PureEngine {
  const { registers, memberships, current, addressInstalls, reasons, tool } = state;

  function plan(): MembershipChange[] {
    const known = toKnown(registers);
    const rows = { memberships: [...memberships.values()], reasonRows: [...reasons.values()] };
    return planMemberships({ ...known, ...rows, current, addressInstalls }, routeLink, gracePeriods);
  }

  return {
    plan,
    known: (install) => toKnownInstall(registers, install),
    merge: (evidence) => mergeInto(registers, evidence),
    derive() {
      for (const { seat, before, after, newReasons: added, address } of plan()) {
        const id = before?.id ?? memberships.size + 1;
        const row = { ...newRow, ...before, ...seat, ...after, id, wanted: after.wanted };
        memberships.set(id, row);
        if (address !== null) {
          current.set(id, address.address);
          addressInstalls.set(id, new Set(addressInstalls.get(id)).add(address.install));
        }
        for (const reason of added) {
          const { install, contractId, linkId } = reason;
          const reasonKey = [id, install, contractId, linkId].join('/');
          reasons.set(reasonKey, { membershipId: id, ...reason });
        }
      }
    },
    converge(now) {
      for (const [id, row] of memberships) {
        if (row.state === 'pending') {
          tool.add(id);
          memberships.set(id, { ...row, state: 'active', isOurs: true, memberId: row.trainerId });
        }
        const isDue = row.state === 'removing' && (row.removeAfter ?? '') <= now;
        if (!isDue) continue;
        tool.delete(id);
        memberships.set(id, { ...row, state: 'removed', isOurs: false, removeAfter: null });
      }
    },
    wanted: () => seatsOf([...memberships.values()].filter(({ wanted }) => wanted)),
    roster: () => seatsOf([...memberships.values()].filter(({ id }) => tool.has(id))),
    memberships: () => [...memberships.values()],
    evidence: () => printRegisters(registers),
    print: () =>
      JSON.stringify([
        printRegisters(registers),
        [...memberships.values()],
        [...current].sort(),
        [...addressInstalls].map(([id, installs]) => [id, ...[...installs].sort()]).sort(),
        [...reasons].map(([key, { isNamed }]) => [key, isNamed]).sort(),
        [...tool].sort(),
      ]),
    fork: () => createPureEngine(copyState(state)),
  };
}

function createState(): PureState {
  return {
    registers: createRegisters(),
    memberships: new Map(),
    current: new Map(),
    addressInstalls: new Map(),
    reasons: new Map(),
    tool: new Set(),
  };
}

function copyState({ registers, memberships, current, addressInstalls, reasons, tool }: PureState): PureState {
  const { contracts, links, grants, pairs, participations, people } = registers;
  return {
    registers: {
      contracts: new Map(contracts),
      links: new Map(links),
      grants: new Map(grants),
      pairs: new Map(pairs),
      participations: new Map(participations),
      people: new Map(people),
    },
    memberships: new Map(memberships),
    current: new Map(current),
    addressInstalls: new Map(addressInstalls),
    reasons: new Map(reasons),
    tool: new Set(tool),
  };
}

/** In the order of the keys: in which order they came is no knowledge. */
function printRegisters(registers: Registers): string {
  return JSON.stringify(
    Object.values(registers).map((rows) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)),
  );
}

function seatsOf(rows: Row<'membership'>[]): string[] {
  return [...new Set(rows.map(({ groupId, trainerId }) => `${groupId}/${trainerId}`))].sort();
}

function createRegisters(): Registers {
  return {
    contracts: new Map(),
    links: new Map(),
    grants: new Map(),
    pairs: new Map(),
    participations: new Map(),
    people: new Map(),
  };
}

function mergeInto(registers: Registers, evidence: Evidence): void {
  for (const kind of Object.keys(keyColumns) as (keyof Evidence)[]) {
    const table = registers[kind] as Map<string, object>;
    for (const row of evidence[kind]) {
      const key = keyColumns[kind].map((column) => Reflect.get(row, column)).join('/');
      const known = table.get(key);
      table.set(key, known === undefined ? row : mergeRegisters(known, row));
    }
  }
}

/** As the stores load it (`membership-store.ts`). */
function toKnown({ contracts, links, grants, pairs, participations, people }: Registers) {
  const joined = [...participations.values()].flatMap((participation) => {
    const { install, contractId, trainerId } = participation;
    const contract = contracts.get(`${install}/${contractId}`);
    const itsPairs = [...pairs.values()].filter((pair) => pair.install === install && pair.contractId === contractId);
    if (contract === undefined) return [];
    return itsPairs.flatMap((pair) => {
      const link = links.get(`${install}/${pair.linkId}`);
      if (link === undefined) return [];
      return [toParticipation(contract, link, pair, participation, trainerId)];
    });
  });
  const known = [...people.values()].flatMap(({ install, trainerId, workEmail }) =>
    workEmail === null ? [] : ([[`${install}/${trainerId}`, workEmail.toLowerCase()]] as const),
  );
  const isSuccessorLink = (link: LinkEvidence) => statusOfLink(link) === 'live';
  return {
    participations: joined,
    addresses: new Map(known),
    grants: [...grants.values()],
    successorLinks: [...links.values()].filter(isSuccessorLink),
  };
}

function toParticipation(
  contract: ContractEvidence,
  { absences: linkAbsences, ...link }: LinkEvidence,
  { namedAt, omissions }: Evidence['pairs'][number],
  { absences: participationAbsences, seenAt }: Evidence['participations'][number],
  trainerId: string,
) {
  const absences = { linkAbsences, participationAbsences };
  return { ...contract, ...link, ...absences, namedAt, omissions, trainerSeenAt: seenAt ?? '', trainerId };
}

/** As the store of installs loads it (`install-state-store.ts`). */
function toKnownInstall(registers: Registers, install: string): KnownInstall {
  const of = <Row extends { install: string }>(rows: Map<string, Row>) =>
    [...rows.values()].filter((row) => row.install === install);
  const pairs = of(registers.pairs);
  const participations = of(registers.participations).filter((one) => leftSince(one) === null);
  const doubtful = new Set(
    participations.filter(({ absences, seenAt }) => isMissed(absences, seenAt)).map(({ contractId }) => contractId),
  );
  const isOpen = (contract: ContractEvidence) => {
    const status = statusOfContract(contract);
    return status === 'active' || status === 'disputed';
  };
  const on = (contractId: string) => (row: { contractId: string }) => row.contractId === contractId;
  return {
    links: new Map(
      of(registers.links)
        .filter((link) => statusOfLink(link) === 'live')
        .map(({ linkId, firstSeenAt }) => [linkId, firstSeenAt]),
    ),
    contracts: byContract(
      of(registers.contracts)
        .filter(isOpen)
        .map(({ contractId, participantsReadAt }) => ({
          contractId,
          participantsReadAt: doubtful.has(contractId) ? null : participantsReadAt,
          linkIds: pairs
            .filter((pair) => pair.contractId === contractId && movedSince(pair) === null)
            .map(({ linkId }) => linkId),
          trainerIds: participations.filter(on(contractId)).map(({ trainerId }) => trainerId),
        })),
    ),
  };
}

const newRow: Omit<Row<'membership'>, 'id' | 'tool' | 'groupId' | 'trainerId' | 'wanted'> = {
  generation: 0,
  state: 'pending',
  install: '',
  cause: null,
  removeAfter: null,
  memberId: null,
  doubtedId: null,
  isOurs: false,
  lookAgain: false,
  attempts: 0,
  nextAttemptAt: null,
  leaseToken: null,
  leasedUntil: null,
  failure: null,
  updatedAt: '',
  clearedGeneration: null,
  lateUntil: null,
  missedAt: null,
  releasedBy: null,
  unmetSince: null,
};

const keyColumns: Record<keyof Evidence, string[]> = {
  contracts: ['install', 'contractId'],
  links: ['install', 'linkId'],
  grants: ['install', 'grantId'],
  pairs: ['install', 'contractId', 'linkId'],
  participations: ['install', 'contractId', 'trainerId'],
  people: ['install', 'trainerId'],
};
