import { actViews, acts as operationActs } from './act.ts';
import type { Act, View } from './page.ts';
import { connectActs, connectViews } from './pages/connect-page.ts';
import { contractWorkViews } from './pages/contract-work-page.ts';
import { heldViews } from './pages/held-page.ts';
import { homeViews } from './pages/home-page.ts';
import { installViews } from './pages/install-page.ts';
import { lists } from './pages/lists.ts';
import { membershipViews } from './pages/membership-page.ts';
import { planActs, planViews } from './pages/plan-page.ts';
import { records } from './pages/records.ts';
import { searchViews } from './pages/search-page.ts';
import { workViews } from './pages/work-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View[] = [
  ...homeViews,
  ...searchViews,
  ...lists,
  ...membershipViews,
  ...connectViews,
  ...installViews,
  ...planViews,
  ...workViews,
  ...heldViews,
  ...contractWorkViews,
  ...records,
  ...actViews,
];

export const acts: readonly Act[] = [...connectActs, ...planActs, ...operationActs];
