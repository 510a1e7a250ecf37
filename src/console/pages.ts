import type { ConsoleParts } from './console-parts.ts';
import type { Act, View } from './page.ts';
import { accessViews } from './pages/access-page.ts';
import { deliveryActs, deliveryViews } from './pages/deliveries-page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';
import { membershipActs, membershipViews } from './pages/membership-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View<ConsoleParts>[] = [
  ...homeViews,
  ...accessViews,
  ...membershipViews,
  ...deliveryViews,
];

export const acts: readonly Act<ConsoleParts>[] = [...homeActs, ...membershipActs, ...deliveryActs];
