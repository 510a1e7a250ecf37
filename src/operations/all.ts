import { audit } from './audit.ts';
import { budgets } from './budgets.ts';
import { contracts } from './contracts.ts';
import { deliveries } from './deliveries.ts';
import { doctor } from './doctor.ts';
import { endpoint } from './endpoint.ts';
import { guidelines } from './guidelines.ts';
import { installs } from './installs.ts';
import { links } from './links.ts';
import { notifications } from './notifications.ts';
import type { Operation } from './operation.ts';
import { reconcile } from './reconcile.ts';
import { runs } from './runs.ts';
import { settings } from './settings.ts';
import { token } from './token.ts';
import { tools } from './tools.ts';

/** Every operation. A command loads only its own noun, by `nouns.ts`. */
export const operations: readonly Operation[] = [
  ...links,
  ...deliveries,
  ...contracts,
  ...budgets,
  ...reconcile,
  ...runs,
  ...installs,
  ...endpoint,
  ...token,
  ...tools,
  ...guidelines,
  ...notifications,
  ...audit,
  ...settings,
  ...doctor,
];
