import type { Config } from '../../config/config-schema.ts';
import { secret } from '../../config/values-schema.ts';
import { AppError } from '../../domain/errors.ts';
import type { Install } from '../../domain/install.ts';
import type { SourceKind } from '../../domain/source-kind.ts';
import type { WantedJob } from './link-jobs.ts';
import { type Destination, settleDestination } from './settle-destination.ts';

export interface Connecting {
  install: string;
  source: SourceKind;
  token: string;
  /** Of an employer's own account: whose people are to work where. They are added to those that are linked. */
  jobs: readonly WantedJob[];
  /** Null where the install is in the configuration file, which says it then. */
  destination: Destination | null;
  acceptsOrphans: boolean;
  /** Whether the install may belong to another customer from now on. */
  acceptsOtherCustomer: boolean;
}

interface Wanted {
  install: string;
  /** The kind of account; undefined for the kind that the install has, or a platform. */
  source: SourceKind | undefined;
  jobs: readonly WantedJob[];
  hasToken: boolean;
  tool: string | undefined;
  projects: readonly string[] | undefined;
}

interface Settled {
  source: SourceKind;
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
  { install, source: wantedSource, jobs, hasToken, tool, projects }: Wanted,
): Settled {
  const source = settleSource(install, installs.get(install)?.source, wantedSource);
  if (jobs.length > 0 && source !== 'employer') {
    const message =
      'Jobs are named for your own account alone, with --employer: a customer links their projects to jobs';
    throw new AppError('invalid', message);
  }
  const configured = config.installs.get(install);
  if (configured !== undefined) {
    if (!hasToken && tool === undefined && projects === undefined && jobs.length === 0) {
      return { source, destination: null, configured: configured.token };
    }
    throw new AppError(
      'invalid',
      `${install} stands in the configuration: change its token, tool, projects or jobs there`,
    );
  }
  const others = [...installs].filter(([other]) => other !== install);
  const wanted = { ...(tool !== undefined && { tool }), ...(projects !== undefined && { projects }) };
  const known = {
    before: installs.get(install),
    others: others.map(([, other]) => other),
    tools: [...config.tools.keys()],
  };
  return { source, destination: settleDestination(wanted, known), configured: undefined };
}

/** @throws AppError `conflict` for an account of another kind: what is known of the install would be nothing of its */
function settleSource(install: string, known: SourceKind | undefined, wanted: SourceKind | undefined): SourceKind {
  if (known === undefined || wanted === undefined || wanted === known) return wanted ?? known ?? 'platform';
  const is = known === 'platform' ? 'the platform of a customer' : 'your own account';
  throw new AppError('conflict', `${install} is ${is}: give the account of another kind a name of its own`);
}

/** @throws AppError `invalid` for a text that cannot be a token */
export function toToken(text: string): string {
  const checked = secret.safeParse(text.trim());
  if (checked.success) return checked.data;
  throw new AppError('invalid', `The token ${checked.error.issues[0]?.message}`);
}
