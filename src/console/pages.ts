import type { ConsoleParts } from './console-parts.ts';
import type { Act, View } from './page.ts';
import { accessViews } from './pages/access-page.ts';
import { actsViews } from './pages/acts-page.ts';
import { deliveriesActs, deliveriesViews } from './pages/deliveries-page.ts';
import { forecastViews } from './pages/forecast-page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';
import { invitationActs, invitationViews } from './pages/invitations-page.ts';
import { planActs, planViews } from './pages/plans-page.ts';
import { trainerViews } from './pages/trainer-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View<ConsoleParts>[] = [
  ...homeViews,
  ...accessViews,
  ...trainerViews,
  ...planViews,
  ...invitationViews,
  ...forecastViews,
  ...deliveriesViews,
  ...actsViews,
];

export const acts: readonly Act<ConsoleParts>[] = [...homeActs, ...planActs, ...invitationActs, ...deliveriesActs];
