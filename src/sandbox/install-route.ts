import type { PlatformRoute } from './platform-route.ts';
import { toPublicInstall } from './public-shapes.ts';

export const installRoutes: PlatformRoute[] = [
  {
    method: 'get',
    path: '/installs/current',
    answer: ({ install }) => ({ install: toPublicInstall(install) }),
  },
];
