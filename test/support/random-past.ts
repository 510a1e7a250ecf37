import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
  toPair,
} from '../../src/domain/evidence.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decidePlan } from '../../src/operator/decide-plan.ts';
import { convergeDue } from './converging.ts';
import type { Engine } from './engine-harness.ts';
import type { MemoryTool } from './memory-tool.ts';

/**
 * Steps of a random past, for what must hold of any: evidence of every kind, late and repeated, time, calls and
 * decisions.
 */
export interface Past {
  /** What one may ask about. */
  subjects: readonly string[];
  installs: readonly string[];
  step(engine: Engine, tool: MemoryTool): Promise<void>;
}

const minuteMs = 60_000;
const usualEnds = ['endedEventAt', 'endedEventAt', 'endedByOperatorAt'] as const;
const usualSights = ['seenAt', 'absences', 'absences'] as const;
const modes = ['PARTNER_WEBHOOK', 'PARTNER_WEBHOOK', 'PARTNER_WEBHOOK', 'MANAGED_ADAPTER', 'NEW'];
const longAgo = '2026-01-01T00:00:00.000Z';

/** @param run makes the ids of one past differ from those of others in the same database */
export function createPast(random: () => number, run: number): Past {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const ids = (...names: string[]) => names.map((name) => `${name}-${run}`);
  const installs = ids('acme', 'globex');
  const contracts = ids('c1', 'c2');
  const links = ids('l1', 'l2');
  const trainers = ids('t1', 't2');
  const arrived: Evidence[] = [];

  /** Mostly now, sometimes earlier: late events and readings. */
  const instant = ({ clock }: Engine) =>
    toInstant(new Date(clock.now().getTime() - (random() < 0.3 ? Math.floor(random() * 40) * minuteMs : 0)));

  function newEvidence(engine: Engine): Evidence {
    const install = pick(installs);
    const at = instant(engine);
    const empty = emptyEvidence();
    const contract = emptyContract(install, pick(contracts));
    const link = emptyLink(install, pick(links));
    switch (Math.floor(random() * 11)) {
      case 0:
      case 1:
      case 9:
      case 10:
        return hired(install, at);
      case 2: {
        const register = pick(['startedEventAt', 'activeReadAt', 'activeReadAt', 'reopenedAt'] as const);
        return { ...empty, contracts: [{ ...contract, [register]: at }] };
      }
      case 3: {
        const register = pick([...usualEnds, ...usualEnds, 'endedReadAt'] as const);
        return { ...empty, contracts: [{ ...contract, [register]: at }] };
      }
      case 4: {
        const register = pick([...usualSights, ...usualSights, 'removedEventAt'] as const);
        return { ...empty, links: [{ ...link, [register]: at }] };
      }
      case 5:
        return { ...empty, links: [{ ...link, ...modeOf(pick(modes), at) }] };
      case 6: {
        const pair = toPair(install, contract.contractId, link.linkId, longAgo);
        return { ...empty, pairs: [{ ...pair, [pick(['namedAt', 'omissions'] as const)]: at }] };
      }
      case 7: {
        const participation = { install, contractId: contract.contractId, trainerId: pick(trainers) };
        const register = pick(['seenAt', 'absences', 'absences'] as const);
        return { ...empty, participations: [{ ...participation, seenAt: longAgo, absences: null, [register]: at }] };
      }
      default: {
        const grant = emptyGrant(install, pick(ids('g1', 'g2')));
        const isRevoked = random() < 0.2;
        const seen = { revokedEventAt: at, revokedReceivedAt: at };
        const read = { firstActiveReadAt: at, activeReadAt: at };
        return { ...empty, grants: [{ ...grant, ...(isRevoked ? seen : read) }] };
      }
    }
  }

  /** The start of a contract, as its event says it. */
  function hired(install: string, at: string): Evidence {
    const contractId = pick(contracts);
    const linkId = pick(links);
    const trainerId = pick(trainers);
    const workEmail = random() < 0.8 ? `${trainerId}@opentrain.work` : null;
    return {
      ...emptyEvidence(),
      contracts: [{ ...emptyContract(install, contractId), startedEventAt: at }],
      links: [{ ...emptyLink(install, linkId), firstSeenAt: at, seenAt: at, externalProjectId: `signs-${run}` }],
      pairs: [toPair(install, contractId, linkId, at)],
      participations: [{ install, contractId, trainerId, seenAt: at, absences: null }],
      people: [
        {
          ...{
            install,
            trainerId,
            displayName: null,
            displayNameVersion: null,
            workEmail,
            workEmailVersion: `1:${at}`,
          },
          ...{ addressMissing: null, addressMissingVersion: null },
        },
      ],
    };
  }

  /** Mostly new, sometimes as it came before: repeated, and long after what was newer. */
  function arriving(engine: Engine): Evidence {
    const evidence = arrived.length > 0 && random() < 0.15 ? pick(arrived) : newEvidence(engine);
    arrived.push(evidence);
    return evidence;
  }

  async function decide(engine: Engine): Promise<void> {
    const [plan] = (await engine.plans.list({ state: 'open' })).filter(({ install }) => installs.includes(install));
    if (plan === undefined) return;
    const by = { actor: 'olga', at: toInstant(engine.clock.now()) };
    await decidePlan({ ...engine, by }, pick(['approve', 'reject'] as const), plan.id, {});
  }

  return {
    subjects: [...contracts, ...trainers],
    installs,
    async step(engine, tool) {
      const dice = random();
      if (dice < 0.5) await engine.merge(arriving(engine));
      else if (dice < 0.7) await convergeDue(engine, tool);
      else if (dice < 0.93) await engine.pass(Math.floor(random() * 30) * minuteMs);
      else await decide(engine);
      while (await engine.memberships.hasPostponed()) await engine.merge(emptyEvidence());
    },
  };
}

function modeOf(provisioningMode: string, at: string) {
  return { provisioningMode, provisioningModeVersion: `1:${at}` };
}
