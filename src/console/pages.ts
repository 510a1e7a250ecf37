import type { ConsoleParts } from './console-parts.ts';
import type { Act, View } from './page.ts';
import { homeActs, homeViews } from './pages/home-page.ts';

/** Every page of the console, and everything that can be done there. */
export const views: readonly View<ConsoleParts>[] = [...homeViews];

export const acts: readonly Act<ConsoleParts>[] = [...homeActs];
