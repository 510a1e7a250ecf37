import { AppError } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';
import { createRosterAdapter } from './roster/roster-adapter.ts';
import { RosterSettings } from './roster/roster-schema.ts';

/** Every adapter that is built in, by the name it has in `tools.<name>.adapter`. */
const builtIn = new Map<string, (settings: unknown) => Adapter>([
  ['roster', (settings) => createRosterAdapter(RosterSettings.parse(settings))],
]);

export const builtInAdapters: readonly string[] = [...builtIn.keys()];

/**
 * The adapter of a configured tool.
 *
 * @throws AppError `invalid` for an adapter there is none of, or settings that it cannot use
 */
export function createAdapter(tool: string, kind: string, settings: unknown): Adapter {
  const create = builtIn.get(kind);
  if (create === undefined) {
    const known = builtInAdapters.join(', ');
    throw new AppError(
      'invalid',
      `tools.${tool}.adapter: there is no "${kind}"; there is: ${known}`,
    );
  }
  try {
    return create(settings);
  } catch (error) {
    throw new AppError('invalid', `tools.${tool}: ${toReason(error)}`, { cause: error });
  }
}

/** Settings are checked by schemas, whose errors list what is wrong. */
function toReason(error: unknown): string {
  const { issues } = error as { issues?: { message: string }[] };
  return issues?.map((issue) => issue.message).join('; ') ?? String(error);
}
