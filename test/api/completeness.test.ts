import { describe, expect, it } from 'vitest';
import { operations } from '../../src/api/operations.ts';
import { acts, views } from '../../src/console/pages.ts';

/** The operations that do what a page of the console does. Text: why none is needed. */
const byPage: Record<string, string[] | string> = {
  '/': ['getStatus'],
  '/access': ['searchAccess', 'listMemberships'],
  '/access.csv': ['searchAccess'],
  '/acts': ['listActs'],
  '/acts/:id': ['getAct'],
  '/budgets': ['listBudgets'],
  '/budgets/:id': ['getBudget'],
  '/connect': 'a form',
  '/contracts': ['listContracts'],
  '/contracts/:id': ['getContractTimeline', 'explain'],
  '/deliveries': ['deliveriesList'],
  '/deliveries/:id': ['deliveriesShow'],
  '/deliveries/:id/body': ['deliveriesBody'],
  '/deliveries/replays/:id': ['getAct'],
  '/doctor': ['getDoctor'],
  '/drift': ['getDrift'],
  '/installs': ['listInstalls'],
  '/installs/:name': ['listInstalls', 'linksList', 'listEndpoints', 'listTokens', 'listContracts', 'listGuidelines'],
  '/installs/:name/remove': 'asks whether it is meant',
  '/installs/:name/rotate': 'asks whether it is meant',
  '/installs/:name/token': 'asks whether it is meant',
  '/installs/:name/unlink/:link': 'asks whether it is meant',
  '/invitations': ['listWaiting'],
  '/memberships/:id': ['getMembership', 'explain'],
  '/notifications': ['listNotifications'],
  '/plans': ['listPlans'],
  '/plans/:id': ['getPlan'],
  '/plans/:id/approvals/:approval': ['getApproval'],
  '/search': ['searchAccess', 'listContracts'],
  '/settings': ['getSettings'],
  '/trainers/:id': ['getTrainerTimeline', 'explain'],
  '/work': ['checkUsage'],
  '/work.csv': ['checkUsage'],
  '/work/contracts/:id': ['getUsage'],
  '/work/held': ['listHeldWork'],
  '/work/held/:id': ['listHeldWork'],
};

const byAct: Record<string, string[]> = {
  '/connect/now': ['connectInstall'],
  '/contracts/:id/end': ['endContract'],
  '/contracts/:id/reopen': ['reopenContract'],
  '/deliveries/:id/replay': ['deliveriesReplay'],
  '/deliveries/replay': ['deliveriesReplay'],
  '/doctor': ['runDoctor'],
  '/installs/:name/guidelines': ['syncGuidelines'],
  '/installs/:name/link': ['linksAdd'],
  '/installs/:name/read': ['readInstalls'],
  '/installs/:name/remove': ['removeInstall'],
  '/installs/:name/rotate': ['rotateEndpoint'],
  '/installs/:name/token': ['rotateToken'],
  '/installs/:name/unlink/:link': ['linksRemove'],
  '/invitations/:id': ['takeInvitation'],
  '/memberships/:id/converge': ['convergeMembership'],
  '/plans/:id/approve': ['approvePlan'],
  '/plans/:id/reject': ['rejectPlan'],
  '/read-now': ['readInstalls'],
  '/work/contracts/:id/accept': ['reportUsage'],
  '/work/held/:id/assign': ['decideHeldWork'],
  '/work/held/:id/discard': ['decideHeldWork'],
  '/work/held/:id/dismiss': ['decideLateDay'],
  '/work/held/:id/send': ['decideLateDay'],
  '/work/held/:id/take-back': ['takeBackHeldWork'],
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
