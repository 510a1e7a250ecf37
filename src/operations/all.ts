import { AppError } from '../domain/errors.ts';
import { access } from './access.ts';
import { audit } from './audit.ts';
import { budgets } from './budgets.ts';
import { contracts } from './contracts.ts';
import { deliveries } from './deliveries.ts';
import { doctor } from './doctor.ts';
import { drift } from './drift.ts';
import { endpoint } from './endpoint.ts';
import { explain } from './explain.ts';
import { forget } from './forget.ts';
import { guidelines } from './guidelines.ts';
import { installs } from './installs.ts';
import { links } from './links.ts';
import { members } from './members.ts';
import { notifications } from './notifications.ts';
import type { Operation } from './operation.ts';
import { plans } from './plans.ts';
import { reconcile } from './reconcile.ts';
import { retire } from './retire.ts';
import { runs } from './runs.ts';
import { settings } from './settings.ts';
import { status } from './status.ts';
import { token } from './token.ts';
import { tools } from './tools.ts';
import { usage } from './usage.ts';

/** Every operation. A command loads only its own noun, by `nouns.ts`. */
export const operations: readonly Operation[] = [
  ...status,
  ...members,
  ...access,
  ...explain,
  ...drift,
  ...retire,
  ...forget,
  ...plans,
  ...links,
  ...deliveries,
  ...usage,
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

const byId = new Map(operations.map((operation) => [operation.id, operation]));

export function operationOf(id: string): Operation {
  const found = byId.get(id);
  if (found === undefined) throw new AppError('not_found', `There is no operation ${id}`);
  return found;
}
