import type { Act, View } from './page.ts';
import { accessViews } from './pages/access-page.ts';
import { actsViews } from './pages/acts-page.ts';
import { approvalViews } from './pages/approval-page.ts';
import { budgetViews } from './pages/budgets-page.ts';
import { connectActs, connectViews } from './pages/connect-page.ts';
import { contractWorkActs, contractWorkViews } from './pages/contract-work-page.ts';
import { contractActs, contractViews } from './pages/contracts-page.ts';
import { deliveryActs, deliveryViews } from './pages/deliveries-page.ts';
import { doctorActs, doctorViews } from './pages/doctor-page.ts';
import { driftViews } from './pages/drift-page.ts';
import { heldActs, heldViews } from './pages/held-page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';
import { installActs, installActViews } from './pages/install-acts.ts';
import { installViews } from './pages/install-page.ts';
import { invitationActs, invitationViews } from './pages/invitations-page.ts';
import { membershipActs, membershipViews } from './pages/membership-page.ts';
import { notificationsViews } from './pages/notifications-page.ts';
import { planActs, planViews } from './pages/plan-page.ts';
import { plansViews } from './pages/plans-page.ts';
import { searchViews } from './pages/search-page.ts';
import { settingsViews } from './pages/settings-page.ts';
import { workViews } from './pages/work-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View[] = [
  ...homeViews,
  ...accessViews,
  ...searchViews,
  ...contractViews,
  ...membershipViews,
  ...connectViews,
  ...installViews,
  ...installActViews,
  ...plansViews,
  ...planViews,
  ...approvalViews,
  ...driftViews,
  ...invitationViews,
  ...workViews,
  ...heldViews,
  ...contractWorkViews,
  ...budgetViews,
  ...deliveryViews,
  ...notificationsViews,
  ...actsViews,
  ...doctorViews,
  ...settingsViews,
];

export const acts: readonly Act[] = [
  ...homeActs,
  ...connectActs,
  ...installActs,
  ...contractActs,
  ...membershipActs,
  ...planActs,
  ...invitationActs,
  ...heldActs,
  ...contractWorkActs,
  ...deliveryActs,
  ...doctorActs,
];
