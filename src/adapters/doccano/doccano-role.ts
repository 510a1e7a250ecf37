import { AppError } from '../../domain/errors.ts';
import type { DoccanoApi } from './doccano-api.ts';
import { Roles } from './doccano-schema.ts';

/**
 * The id of a role, which differs between installations.
 *
 * @throws AppError `invalid` if there is no role with this name
 */
export async function findRole(api: DoccanoApi, name: string, signal: AbortSignal): Promise<number> {
  const roles = await api.send({ path: '/roles', purpose: 'read the roles' }, Roles, signal);
  const role = roles.find((one) => one.name === name);
  if (role !== undefined) return role.id;
  const known = roles.map((one) => one.name).join(', ');
  throw new AppError('invalid', `doccano has no role "${name}", but ${known}: see "role"`);
}
