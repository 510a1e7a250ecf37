import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { createLinkRouter } from '../../../src/memberships/wall.ts';
import { mayChangeAccounts } from '../../../src/tools/accounts.ts';
import { inStudio } from '../../support/engine-harness.ts';
import type { EventWish } from '../../support/event-bodies.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

/** Two customers share a tool, and one of them forges events. It knows every id and every address. */

const installs = new Map([
  ['honest', inStudio(['b-*'])],
  ['hostile', inStudio(['a-*'])],
]);

/** Accounts that other hands have made. */
const seeded: Record<string, string[]> = {
  'owner@example.com': ['staff', 'b-1'],
  'admin@lab.example': ['staff', 'b-1'],
  'employee@lab.example': [],
  'colleague@lab.example': ['a-1', 'b-1'],
  'managed@opentrain.work': ['b-9'],
  'former@opentrain.work': [],
};
/** The one that is not active. */
const former = 'former@opentrain.work';
const ownGroups = ['a-1', 'a-2'];
const otherGroups = ['staff', 'b-1', 'b-9'];
/** The honest customer has hired this trainer already. */
const kind = 'kind@opentrain.work';
const colluder = 'colluder@opentrain.work';
const grant = 'grant-of-honest';

const kinds = { trainer: 'kind', contract: 'ctr-kind', link: 'lnk-b-1', project: 'b-1' };
const managed = {
  trainer: 'managed',
  contract: 'ctr-managed',
  link: 'lnk-b-9',
  project: 'b-9',
  provisioningMode: 'MANAGED_ADAPTER',
};

type Move = Omit<EventWish, 'type'> & { type?: string };

const hire = (trainer: string, workEmail: string, project = 'a-1'): Move => ({
  type: 'contract.started',
  contract: `ctr-of-${trainer}`,
  link: `lnk-${project}`,
  ...{ trainer, workEmail, project },
});
const hireAndEnd = (trainer: string, workEmail: string, project?: string): Move[] => {
  const hired = hire(trainer, workEmail, project);
  return [hired, { ...hired, type: 'contract.ended' }];
};
const rename = (trainer: string, from: string, to: string): Move[] => [hire(trainer, from), ...hireAndEnd(trainer, to)];

/** By what it does: its events, each after what the one before has led to. */
const forgeries: Record<string, Move[]> = {
  'hires an administrator of the tool': hireAndEnd('p1', 'admin@lab.example'),
  'hires a trainer with a protected account': hireAndEnd('p2', 'owner@example.com'),
  'hires an employee who is in no group': hireAndEnd('p3', 'employee@lab.example'),
  'hires a trainer whose account was deactivated': hireAndEnd('p11', former),
  'hires a member of its own group that another hand put there': hireAndEnd('p4', 'colleague@lab.example'),
  'hires a trainer that the marketplace itself has put in': hireAndEnd('managed', 'managed@opentrain.work'),
  'hires the same under another id and in capitals': hireAndEnd('p5', 'MANAGED@OPENTRAIN.WORK', 'a-2'),
  "gives an administrator's account another address": rename('p6', 'admin@lab.example', colluder),
  'gives its trainer the address of an employee': rename('p7', 'p7@opentrain.work', 'employee@lab.example'),
  "gives another customer's trainer another address": rename('p8', kind, colluder),
  "hires another customer's trainer by their id": hireAndEnd('kind', colluder),
  "hires another customer's trainer by their address": hireAndEnd('p9', kind, 'a-2'),
  // In lower case its first letter is a k.
  'hires them by a form of it that is the same in lower case': hireAndEnd('p12', '\u212aind@opentrain.work', 'a-2'),
  "hires for another customer's project": hireAndEnd('p10', colluder, 'b-1'),
  "ends another customer's contract": [{ ...kinds, type: 'contract.ended' }],
  "ends another customer's contract as one of its own": [
    { ...hire('kind', kind), contract: kinds.contract },
    { ...hire('kind', kind), contract: kinds.contract, type: 'contract.ended' },
  ],
  "removes another customer's link": [{ ...kinds, type: 'project_link.removed' }],
  "revokes another customer's install": [{ type: 'install.revoked', link: grant }],
};

const oneGroup = 'annotators';
const ofProject = (project: string): string => project;

describeAnyDatabase('a customer who forges', (openFresh) => {
  describe.each([
    { where: 'with addresses of any domain', managedDomains: [], groupOf: ofProject },
    {
      where: 'with managed domains and one group for all',
      managedDomains: ['opentrain.work'],
      groupOf: () => oneGroup,
    },
  ])('$where', ({ managedDomains, groupOf }) => {
    let tool: MemoryTool;
    let incident: Incident;
    let activated: string[];
    let begun: ReturnType<typeof standing>;

    beforeEach(async () => {
      tool = createMemoryTool('membership', { keyedBy: 'address', hasAccounts: true, updates: true, lists: true });
      for (const [email, memberOf] of Object.entries(seeded)) {
        tool.seedAccount(email, email);
        for (const group of memberOf) tool.seed(groupOf(group), email, email);
      }
      tool.adapter.groupFor = ({ externalProjectId }) => groupOf(externalProjectId);
      activated = [];
      const { addMember } = tool.adapter;
      tool.adapter.addMember = (group, person, signal) => {
        if (person.email !== former) return addMember(group, person, signal);
        if (person.isAccountOurs !== true) throw new AppError('conflict', 'The account is not active');
        activated.push(person.email);
        return addMember(group, person, signal);
      };
      const adapters = new Map([['studio', tool.adapter]]);
      const routeLink = createLinkRouter(installs, adapters);
      incident = createIncident(await openFresh(), {
        tool,
        routeLink,
        managedDomains,
        installs,
        // What may not happen is not to be held back by the brake.
        limits: { max: 1000, maxFraction: 1 },
        converging: {
          protectedAccounts: ['owner@example.com'],
          mayChangeAccounts: mayChangeAccounts('studio', installs, managedDomains),
        },
      });
      await incident.event('contract.started', { ...managed, workEmail: 'managed@opentrain.work' }, 'honest');
      await incident.event('contract.started', kinds, 'honest');
      await read();
      begun = standing();
    });

    /** What the honest customer's marketplace says all the time. */
    const read = () =>
      incident.read(
        {
          grant,
          links: { 'lnk-b-1': 'b-1' },
          active: { 'ctr-kind': { links: ['lnk-b-1'], people: ['kind'] } },
        },
        'honest',
      );

    const standing = () =>
      Object.fromEntries([...ownGroups, ...otherGroups, oneGroup].map((group) => [group, tool.roster(group)]));

    /** Who was in the groups that it may reach, all of the groups that it may not, and the accounts of others. */
    function untouchable() {
      const isOthers = (id: string) => id === kind || Object.hasOwn(seeded, id);
      const wasIn = (group: string, id: string) => begun[group]?.some((one) => one.id === id);
      return {
        reached: [...ownGroups, oneGroup].map((group) => tool.roster(group).filter(({ id }) => wasIn(group, id))),
        beyond: otherGroups.map((group) => tool.roster(group)),
        accounts: tool.accounts().filter(isOthers),
        activated: [...activated],
      };
    }

    it.each(Object.entries(forgeries))('and %s changes nothing for others', async (_what, moves) => {
      const before = untouchable();
      expect(tool.members(groupOf('b-1'))).toContain(kind);
      for (const { type = '', ...wish } of moves) {
        await incident.event(type, wish, 'hostile');
        await incident.pass(2 * minutes);
        for (const install of installs.keys()) await incident.checkDrift(install);
        await incident.settle();
        expect(untouchable()).toEqual(before);
      }
      await incident.pass(25 * hours);
      await read();
      expect(untouchable()).toEqual(before);
      expect(standing()).toEqual(begun);
    });

    it('and hires a trainer first does not keep them out of the group of another customer', async () => {
      await incident.event('contract.started', hire('next', colluder), 'hostile');
      const next = { ...kinds, trainer: 'next', contract: 'ctr-next' };
      await incident.event('contract.started', next, 'honest');
      expect(tool.members(groupOf('b-1'))).toContain('next@opentrain.work');
      await incident.event('contract.ended', hire('next', colluder), 'hostile');
      await incident.pass(hours);
      expect(tool.members(groupOf('b-1'))).toContain('next@opentrain.work');
      expect(tool.members(groupOf('a-1'))).not.toContain(colluder);
    });
  });
});
