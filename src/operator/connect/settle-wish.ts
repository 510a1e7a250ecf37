import type { Config } from '../../config/config-schema.ts';
import { secret } from '../../config/values-schema.ts';
import { AppError } from '../../domain/errors.ts';
import type { Install } from '../../installs/install.ts';
import { type Destination, settleDestination } from './settle-destination.ts';

interface Wanted {
  install: string;
  hasToken: boolean;
  tool: string | undefined;
  projects: readonly string[] | undefined;
}

interface Settled {
  /** Null where the install is in the configuration file, which says it then. */
  destination: Destination | null;
  /** The token of the configuration. */
  configured: string | undefined;
}

/**
 * Where an install is to lead. One of the configuration is connected as it is written there.
 *
 * @throws AppError `invalid` where that cannot be, or where the operator has to say more
 */
export function settleWish(
  { config, installs }: { config: Config; installs: ReadonlyMap<string, Install> },
  { install, hasToken, tool, projects }: Wanted,
): Settled {
  const configured = config.installs.get(install);
  if (configured !== undefined) {
    if (!hasToken && tool === undefined && projects === undefined) {
      return { destination: null, configured: configured.token };
    }
    throw new AppError('invalid', `${install} stands in the configuration: change its token, tool or projects there`);
  }
  const others = [...installs].filter(([other]) => other !== install);
  const wanted = { ...(tool !== undefined && { tool }), ...(projects !== undefined && { projects }) };
  const known = {
    before: installs.get(install),
    others: others.map(([, other]) => other),
    tools: [...config.tools.keys()],
  };
  return { destination: settleDestination(wanted, known), configured: undefined };
}

/** @throws AppError `invalid` for a text that cannot be a token */
export function toToken(text: string): string {
  const checked = secret.safeParse(text.trim());
  if (checked.success) return checked.data;
  throw new AppError('invalid', `The token ${checked.error.issues[0]?.message}`);
}
