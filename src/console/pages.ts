import type { ConsoleParts } from './console-parts.ts';
import type { Act, View } from './page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';
import { planActs, planViews } from './pages/plans-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View<ConsoleParts>[] = [...homeViews, ...planViews];

export const acts: readonly Act<ConsoleParts>[] = [...homeActs, ...planActs];
