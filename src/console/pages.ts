import type { ConsoleParts } from './console-parts.ts';
import type { Act, View } from './page.ts';
import { forecastViews } from './pages/forecast-page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';
import { invitationActs, invitationViews } from './pages/invitations-page.ts';
import { planActs, planViews } from './pages/plans-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View<ConsoleParts>[] = [...homeViews, ...planViews, ...invitationViews, ...forecastViews];

export const acts: readonly Act<ConsoleParts>[] = [...homeActs, ...planActs, ...invitationActs];
