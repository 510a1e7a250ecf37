import { describe, expect, it } from 'vitest';
import { operations } from '../../src/api/operations.ts';
import { acts, views } from '../../src/console/pages.ts';

/** The operations that do what a page of the console does. Text: why none is needed. */
const byPage: Record<string, string[] | string> = {
  '/': ['statusShow'],
  '/access': ['accessSearch', 'membersList'],
  '/access.csv': ['accessSearch'],
  '/acts': ['auditList'],
  '/acts/:id': ['auditShow'],
  '/budgets': ['budgetsList'],
  '/budgets/:id': ['budgetsShow'],
  '/connect': 'a form',
  '/contracts': ['contractsList'],
  '/contracts/:id': ['explainShow'],
  '/deliveries': ['deliveriesList'],
  '/deliveries/:id': ['deliveriesShow'],
  '/deliveries/:id/body': ['deliveriesBody'],
  '/deliveries/replays/:id': ['auditShow'],
  '/doctor': ['doctorShow'],
  '/drift': ['driftList'],
  '/installs': ['installsList'],
  '/installs/:name': ['installsList', 'linksList', 'endpointStatus', 'tokenList', 'contractsList', 'guidelinesList'],
  '/installs/:name/remove': 'asks whether it is meant',
  '/installs/:name/rotate': 'asks whether it is meant',
  '/installs/:name/token': 'asks whether it is meant',
  '/installs/:name/unlink/:link': 'asks whether it is meant',
  '/invitations': ['membersWaiting'],
  '/memberships/:id': ['membersShow'],
  '/notifications': ['notificationsList'],
  '/plans': ['plansList'],
  '/plans/:id': ['plansShow'],
  '/plans/:id/approvals/:approval': 'plansApprove waits for it',
  '/search': ['accessSearch', 'contractsList'],
  '/settings': ['settingsList'],
  '/trainers/:id': ['explainShow'],
  '/work': ['usageCheck'],
  '/work.csv': ['usageCheck'],
  '/work/contracts/:id': ['usageShow'],
  '/work/held': ['usageHeld'],
  '/work/held/:id': ['usageHeld'],
};

const byAct: Record<string, string[]> = {
  '/connect/now': ['installsConnect'],
  '/contracts/:id/end': ['contractsEnd'],
  '/contracts/:id/reopen': ['contractsReopen'],
  '/deliveries/:id/replay': ['deliveriesReplay'],
  '/deliveries/replay': ['deliveriesReplay'],
  '/doctor': ['doctorRun'],
  '/installs/:name/guidelines': ['guidelinesSync'],
  '/installs/:name/link': ['linksAdd'],
  '/installs/:name/read': ['reconcileNow'],
  '/installs/:name/remove': ['installsRemove'],
  '/installs/:name/rotate': ['endpointRotate'],
  '/installs/:name/token': ['tokenRotate'],
  '/installs/:name/unlink/:link': ['linksRemove'],
  '/invitations/:id': ['membersInvitation'],
  '/memberships/:id/converge': ['membersConverge'],
  '/plans/:id/approve': ['plansApprove'],
  '/plans/:id/reject': ['plansReject'],
  '/read-now': ['reconcileNow'],
  '/work/contracts/:id/accept': ['usageReport'],
  '/work/held/:id/assign': ['usageAssign'],
  '/work/held/:id/discard': ['usageDiscard'],
  '/work/held/:id/dismiss': ['usageDismiss'],
  '/work/held/:id/send': ['usageSend'],
  '/work/held/:id/take-back': ['usageTakeBack'],
};

const known = new Map(operations.map(({ id, method }) => [id, method]));

describe('the API', () => {
  it('says what every page of the console says', () => {
    expect(Object.keys(byPage).sort()).toEqual([...new Set(views.map(({ path }) => path))].sort());
    const named = Object.values(byPage).flatMap((ids) => (typeof ids === 'string' ? [] : ids));
    expect(named.filter((id) => known.get(id) !== 'get')).toEqual([]);
  });

  it('does what can be done in the console', () => {
    expect(Object.keys(byAct).sort()).toEqual([...new Set(acts.map(({ path }) => path))].sort());
    const named = Object.values(byAct).flat();
    expect(named.filter((id) => known.get(id) !== 'post')).toEqual([]);
  });
});
