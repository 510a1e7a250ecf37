import { actViews, acts as operationActs } from './act.ts';
import type { Act, View } from './page.ts';
import { connect, showConnect } from './pages/connect-page.ts';
import { showContractWork } from './pages/contract-work-page.ts';
import { showHeld } from './pages/held-page.ts';
import { showHome } from './pages/home-page.ts';
import { showInstall } from './pages/install-page.ts';
import { lists } from './pages/lists.ts';
import { showContract, showMembership, showTrainer } from './pages/membership-page.ts';
import { approve, reject, showPlan } from './pages/plan-page.ts';
import { downloadBody, showAct, showBudget, showDelivery, showDoctor, showSettings } from './pages/records.ts';
import { search } from './pages/search-page.ts';
import { downloadWork, showWork } from './pages/work-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View[] = [
  { path: '/', show: showHome },
  { path: '/search', show: search },
  ...lists,
  { path: '/memberships/:membership', show: showMembership },
  { path: '/trainers/:trainer', show: showTrainer },
  { path: '/contracts/:contract', show: showContract },
  { path: '/connect', show: showConnect },
  { path: '/installs/:install', show: showInstall },
  { path: '/plans/:plan', show: showPlan },
  { path: '/work', show: showWork },
  { path: '/work.csv', show: downloadWork },
  { path: '/work/held', show: showHeld },
  { path: '/work/contracts/:contract', show: showContractWork },
  { path: '/acts/:act', show: showAct },
  { path: '/deliveries/:delivery', show: showDelivery },
  { path: '/deliveries/:delivery/body', show: downloadBody },
  { path: '/budgets/:contract', show: showBudget },
  { path: '/doctor', show: showDoctor },
  { path: '/settings', show: showSettings },
  ...actViews,
];

export const acts: readonly Act[] = [
  // It has no page: a page with a problem stays until the operator leaves it.
  { path: '/connect/now', act: connect },
  { path: '/plans/:plan/approve', act: approve },
  { path: '/plans/:plan/reject', act: reject },
  ...operationActs,
];
